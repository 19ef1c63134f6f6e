/** All cases: the reports that were tried, by subject. */
import { agentReports } from "./agents.js";
import { contentReports } from "./content.js";
import { endpointReports } from "./endpoint-reports.js";
import { failures } from "./failures.js";
import { gatewayReports } from "./gateway-reports.js";
import { mixedReports } from "./mixed-reports.js";
import { modelReports } from "./models.js";
import type { OutsideCase } from "./outside-case.js";
import { recentReports } from "./recent-reports.js";
import { relayReports } from "./relay-reports.js";
import { reports } from "./reports.js";
import { shapeReports } from "./shape-reports.js";
import { streams } from "./streams.js";
import { toolReports } from "./tools.js";
import { waitReports } from "./waits.js";

export const cases: readonly OutsideCase[] = [
  ...reports,
  ...streams,
  ...toolReports,
  ...contentReports,
  ...failures,
  ...agentReports,
  ...modelReports,
  ...waitReports,
  ...recentReports,
  ...gatewayReports,
  ...relayReports,
  ...shapeReports,
  ...mixedReports,
  ...endpointReports,
];
