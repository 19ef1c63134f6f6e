/**
 * Whether this process's user may trust a socket. Node can't ask the kernel who the peer is, but
 * the owners and modes of the socket's directories show who could have created the socket
 * (docs/security.md). `claim-socket.ts` reads these.
 */

/** The socket or its directory may belong to another user. */
export class SocketUntrustedError extends Error {
  override name = "SocketUntrustedError";
}

/** The owner and mode of a file or directory. */
export interface OwnedPath {
  readonly path: string;
  readonly uid: number;
  readonly mode: number;
}

interface SocketPlace {
  /** Null if nothing exists there. */
  readonly socket: OwnedPath | null;
  readonly directory: OwnedPath;
  /** The parent of the directory. */
  readonly parent: OwnedPath;
}

const writableByOthers = 0o022;
const writableByAll = 0o002;
const sticky = 0o1000;
const root = 0;

/**
 * Why the user with this uid must not trust the place; null if it may. Trusted are the user itself,
 * root, and owners to whom one of these two has given a place that no other user can write.
 */
export function placeProblem(
  { socket, directory, parent }: SocketPlace,
  uid: number,
): string | null {
  const isTrusted = (owned: OwnedPath): boolean => owned.uid === uid || owned.uid === root;
  const isClosed = ({ mode }: OwnedPath): boolean => (mode & writableByOthers) === 0;
  if ((directory.mode & writableByAll) !== 0 && (directory.mode & sticky) === 0)
    return `anyone may exchange the socket in ${directory.path} (mode ${octalText(directory)}): use a directory of its own, or set the sticky bit`;
  if (!isTrusted(directory) && !(isTrusted(parent) && isClosed(parent)))
    return `${directory.path} belongs to another user (uid ${directory.uid}), who may have made it in ${parent.path} (mode ${octalText(parent)})`;
  if (socket === null || isTrusted(socket) || socket.uid === directory.uid || isClosed(directory))
    return null;
  return `${socket.path} belongs to another user (uid ${socket.uid}), who may have made it in ${directory.path} (mode ${octalText(directory)})`;
}

function octalText({ mode }: OwnedPath): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** The default path of the socket for administration. */
export function adminSocketBeside(socket: string): string {
  return `${socket.replace(/\.sock$/, "")}-admin.sock`;
}
