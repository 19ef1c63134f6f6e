/** Creates the objects that the pages share, and renders the first page. */
import "./main.css";
import { render } from "preact";
import { Clock } from "./data/clock.js";
import { ConnectionWatch } from "./data/connection.js";
import { GatewayClient } from "./data/gateway-client.js";
import { LiveFeed } from "./data/live-feed.js";
import { Preferences } from "./data/preferences.js";
import { Router } from "./data/router.js";
import { SessionHolder } from "./data/session.js";
import { browserMemory } from "./data/theme.js";
import { type App, AppContext } from "./parts/app.js";
import { ToastList } from "./parts/toasts.js";
import { Shell } from "./shell.js";

/** Longer than the gateway waits for its daemon. */
const askDeadlineMs = 20_000;

const connection = new ConnectionWatch();
const client = new GatewayClient({
  onOutcome(problem, path) {
    connection.heard(problem, path);
    if (problem?.kind === "signed-out") session.ended();
  },
  deadlineMs: askDeadlineMs,
});
const session = new SessionHolder(client);
const app: App = {
  client,
  clock: new Clock(),
  connection,
  live: new LiveFeed(client, connection),
  preferences: new Preferences(browserMemory(), document.documentElement),
  router: new Router(),
  session,
  toasts: new ToastList(),
};

app.clock.start();
app.router.start();
void session.load();
render(
  <AppContext.Provider value={app}>
    <Shell />
  </AppContext.Provider>,
  document.body,
);
