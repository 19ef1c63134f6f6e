/** Why a service can't start, in words rather than in those of the operating system. Pure. */
import type { Config } from "../../shared/config/config.js";
import { type SettingsInForce, settingText } from "../../shared/config/setting-text.js";

/** What the texts need of the configuration. */
type Listening = SettingsInForce & Pick<Config, "server" | "metrics">;

/** One sentence; an unknown error is printed as it is. */
export function startErrorText(error: unknown, config: Listening | null): string {
  if (!(error instanceof Error)) return String(error);
  const { code, address, port, hostname, message } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly hostname?: string;
    readonly port?: number;
  };
  const where = port === undefined ? "the address" : `${address ?? ""} port ${port}`.trim();
  switch (code) {
    case "EADDRINUSE":
      return `another program listens on ${where}: stop it, or choose another port${portSource(config, { address, port })}`;
    case "EADDRNOTAVAIL":
      return `this host has no address ${address ?? ""}: see server.host`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host ${hostname ?? ""} has no address: see server.host`;
    case "EACCES":
      return port === undefined
        ? message
        : `permission denied for ${where}: ports below 1024 are the system's; choose one above`;
    default:
      return message;
  }
}

/** Which setting gives the port: that of the proxy, of the admin API or of metrics. */
function portSource(
  config: Listening | null,
  { address, port }: { readonly address?: string | undefined; readonly port?: number | undefined },
): string {
  if (config === null) return "";
  for (const [place, path] of [
    [config.server.admin, "server.admin.port"],
    [config.metrics.listen, "metrics.port"],
  ] as const)
    if (place?.port === port && (place?.host === address || config.server.port !== port))
      return `: ${settingText(config, path)}`;
  const isDefault = config.settings.some(
    ({ path, source }) => path === "server.port" && source === "default",
  );
  return isDefault
    ? " with --port, PORT or server.port"
    : `: ${settingText(config, "server.port")}`;
}
