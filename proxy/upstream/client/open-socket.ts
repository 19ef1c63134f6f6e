/** Opens a socket to a provider: plain or TLS, directly or through a proxy. */
import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Egress } from "../../egress/egress.js";
import { openTunnel } from "../../egress/open-tunnel.js";

class ConnectTimeout extends Error {
  override name = "ConnectTimeout";
  readonly code = "ERR_CONNECT_TIMEOUT";
}

export interface SocketOpener {
  /**
   * Calls `done` once. `onRead` gets the bytes of a direct connection; those of a connection
   * through a proxy are the socket's `data` events.
   */
  open(onRead: OnReadOpts, done: (error: Error | null, socket: Socket | null) => void): void;
}

/** `replaceError`: replaces the error of a failed connection if the cause is another one. */
export function createSocketOpener(
  { protocol, hostname, port: givenPort }: URL,
  { proxy, secureContext }: Egress,
  timeoutMs: number,
  replaceError: (error: Error) => Error,
): SocketOpener {
  const isTls = protocol === "https:";
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const port = givenPort === "" ? (isTls ? 443 : 80) : Number(givenPort);
  /** The last TLS session, which shortens the next handshake. */
  let session: Buffer | undefined;
  const openTls = (through: { socket: Socket } | { onread: OnReadOpts }): Socket => {
    const options = {
      host,
      port,
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
      session,
      ...(secureContext === null ? {} : { secureContext }),
      ...through,
    };
    return connectTls(options).on("session", (newSession) => {
      session = newSession;
    });
  };
  const watch = (socket: Socket, done: (error: Error | null) => void): void => {
    const timer = setTimeout(
      () => socket.destroy(new ConnectTimeout(`no connection for ${timeoutMs} ms`)),
      timeoutMs,
    );
    const onError = (error: Error): void => {
      clearTimeout(timer);
      done(error);
    };
    socket.once("error", onError);
    socket.once(isTls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.off("error", onError);
      socket.setNoDelay(true).setKeepAlive(true, keepAliveDelayMs);
      done(null);
    });
  };
  return {
    open(onread, done) {
      const opened = (socket: Socket): void =>
        watch(socket, (error) =>
          error === null ? done(null, socket) : done(replaceError(error), null),
        );
      if (proxy === null)
        return opened(isTls ? openTls({ onread }) : connectPlain({ host, port, onread }));
      openTunnel({ proxy, secureContext }, { host, port, timeoutMs }, (error, socket) => {
        if (error !== null) done(replaceError(error), null);
        else if (isTls) opened(openTls({ socket: socket! }));
        else done(null, socket);
      });
    },
  };
}

const keepAliveDelayMs = 60_000;
