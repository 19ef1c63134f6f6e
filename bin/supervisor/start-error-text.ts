/** Why a service can't start, in words rather than in those of the operating system. Pure. */

/** One sentence; what isn't known is told as it is. */
export function startErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, address, port, hostname, message } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly hostname?: string;
    readonly port?: number;
  };
  const where = port === undefined ? "the address" : `${address ?? ""} port ${port}`.trim();
  switch (code) {
    case "EADDRINUSE":
      return `another program listens on ${where}: stop it, or choose another port with --port or PORT`;
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
