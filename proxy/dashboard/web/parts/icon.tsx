/** All icons: strokes on a grid of 24, in the colour of the text around them. */

const shapes = {
  alert: "M12 4 2.5 20h19zM12 10v4M12 17v.01",
  back: "m14 6-6 6 6 6",
  bills: "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
  budgets:
    "M12 3v18M16.5 7.500c-1-1.5-2.5-2-4.5-2-5 0-5 6 0 6.500s5 6.5 0 6.500c-2 0-3.7-.6-4.7-2.2",
  check: "m5 12.5 4.5 4.500L19 7.5",
  children: "M6 4v13a2 2 0 0 0 2 2h3M6 9h5M15 6h4v5h-4zM15 16h4v5h-4z",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  download: "M12 4v11m-4.5-4 4.5 4.500L16.5 11M5 20h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  explain:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.5 9.500a2.5 2.5 0 1 1 3.6 2.200c-.8.4-1.1.9-1.1 1.800M12 17v.01",
  forward: "m10 6 6 6-6 6",
  gate: "M4 4v16M20 4v16M8 4h8v9H8zM8 18c1.3-1.3 2.7-1.3 4 0s2.7 1.3 4 0",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v5M12 8v.01",
  keyboard: "M3 6h18v12H3zM7 10v.01M11 10v.01M15 10v.01M8 14h8",
  keys: "M8 17a4 4 0 1 0 0-8 4 4 0 0 0 0 8M11 10.5 20 4m-3.5 2.5 2.5 3M14 8.300l1.8 2.3",
  limits: "M4 18a9 9 0 1 1 16 0M12 14l4-5",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  menu: "M4 7h16M4 12h16M4 17h16",
  monitor: "M3 5h18v11H3zM9 20h6M12 16v4",
  moon: "M20 14.500A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5",
  overview: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  pause: "M9 5v14M15 5v14",
  play: "M8 5v14l11-7z",
  plus: "M12 5v14M5 12h14",
  providers: "M4 4h16v6H4zM4 14h16v6H4zM8 7v.01M8 17v.01",
  requests: "M4 8h15m-4-4 4 4-4 4M20 16H5m4-4-4 4 4 4",
  raise: "M12 20V5M6 11l6-6 6 6",
  reset: "M4 4v5h5M4.5 9A8 8 0 1 1 4 13.5",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.5 15.5 20 20",
  signOut: "M14 4h5v16h-5M4 12h10m-4-4 4 4-4 4",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.400M17.6 17.6 19 19M5 19l1.4-1.400M17.6 6.4 19 5",
  system:
    "M4 7h9M17 7h3M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4M4 17h3M11 17h9M9 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  table: "M4 5h16v14H4zM4 10h16M10 10v9",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  usage: "M4 20h16M7 20v-7M12 20V5M17 20v-10",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4.5 20c1-4 4-5.5 7.5-5.500s6.5 1.5 7.5 5.5",
} as const;

export type IconName = keyof typeof shapes;

/** Hidden from screen readers, which read the words beside it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}
