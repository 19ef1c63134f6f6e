/** The context that all parts of the pages share; `main.tsx` creates it. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Clock } from "../data/clock.js";
import type { ConnectionWatch } from "../data/connection.js";
import type { GatewayClient } from "../data/gateway-client.js";
import type { LiveFeed } from "../data/live-feed.js";
import type { Preferences } from "../data/preferences.js";
import type { Router } from "../data/router.js";
import type { SessionHolder } from "../data/session.js";
import type { ToastList } from "./toasts.js";

export interface App {
  readonly client: GatewayClient;
  readonly clock: Clock;
  readonly connection: ConnectionWatch;
  readonly live: LiveFeed;
  readonly preferences: Preferences;
  readonly router: Router;
  readonly session: SessionHolder;
  readonly toasts: ToastList;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === null) throw new Error("no app is around this part");
  return app;
}
