/**
 * The part of node-ipc 12.0.0 that `ipc.ts` uses. The package has no types, and @types/node-ipc
 * describes version 9.
 */
declare module "node-ipc" {
  import type net from "node:net";

  export interface IpcServer {
    server: net.Server;
    /** Any first argument of `net.Server.listen` instead of a path. */
    port?: { readonly fd: number };
    on(event: string, handler: (...args: never[]) => void): void;
    emit(socket: net.Socket, bytes: Buffer): void;
    start(): void;
  }

  export interface IpcClient {
    path: string;
    socket: net.Socket;
    connect(): void;
    on(event: string, handler: (...args: never[]) => void): void;
    emit(bytes: Buffer): void;
  }

  export class IPCModule {
    config: {
      silent: boolean;
      rawBuffer: boolean;
      encoding: string;
      unlink: boolean;
      maxConnections: number;
      stopRetrying: boolean;
    };
    of: Record<string, IpcClient | undefined>;
    server: IpcServer;
    serve(path: string, onStart: () => void): void;
    connectTo(id: string, path: string, onConnected: () => void): void;
  }
}
