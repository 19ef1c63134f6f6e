/** The words of time ranges. */

export const rangeTexts = {
  range: "Time range",
  days: "Days",
  custom: "Custom range",
  customDays: "Custom days",
  customTimes: "Custom times",
  lastHours: { "3": "Last 3 hours", "24": "Last 24 hours" },
  from: "From (UTC)",
  to: "To (UTC)",
  last: {
    "900": "Last 15 minutes",
    "3600": "Last hour",
    "86400": "Last 24 hours",
    "604800": "Last 7 days",
    "2592000": "Last 30 days",
    "7776000": "Last 90 days",
  },
  lastDays: { "1": "Today", "7": "7 days", "30": "30 days", "90": "90 days" },
} as const;
