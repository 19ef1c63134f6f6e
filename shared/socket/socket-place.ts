/**
 * Whose a socket is: whether the user that runs this process may trust what listens there. Node
 * can't ask the kernel who the other end of a connection is, but who may put a socket into a place
 * is in the owners and modes of its directory (docs/security.md). Reading these is in
 * `claim-socket.ts`.
 */

/** The socket, or its directory, may be someone else's. */
export class SocketUntrustedError extends Error {
  override name = "SocketUntrustedError";
}

/** What the file system says of a file or directory. */
export interface Owned {
  readonly path: string;
  readonly uid: number;
  readonly mode: number;
}

interface SocketPlace {
  /** Null: nothing is there. */
  readonly socket: Owned | null;
  readonly directory: Owned;
  /** The directory that holds the directory. */
  readonly parent: Owned;
}

const writableByOthers = 0o022;
const writableByAll = 0o002;
const sticky = 0o1000;
const root = 0;

/**
 * Why the user with this uid mustn't trust the place; null: it may. Trusted are the user itself,
 * root, and users to whom one of these two has given a place that no other user can write.
 */
export function placeProblem(
  { socket, directory, parent }: SocketPlace,
  uid: number,
): string | null {
  const isTrusted = (owned: Owned): boolean => owned.uid === uid || owned.uid === root;
  const isClosed = ({ mode }: Owned): boolean => (mode & writableByOthers) === 0;
  if ((directory.mode & writableByAll) !== 0 && (directory.mode & sticky) === 0)
    return `anyone may exchange the socket in ${directory.path} (mode ${octal(directory)}): use a directory of its own, or set the sticky bit`;
  if (!isTrusted(directory) && !(isTrusted(parent) && isClosed(parent)))
    return `${directory.path} belongs to another user (uid ${directory.uid}), who may have made it in ${parent.path} (mode ${octal(parent)})`;
  if (socket === null || isTrusted(socket) || socket.uid === directory.uid || isClosed(directory))
    return null;
  return `${socket.path} belongs to another user (uid ${socket.uid}), who may have made it in ${directory.path} (mode ${octal(directory)})`;
}

function octal({ mode }: Owned): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

/** Where the socket for administration is unless the configuration names another place. */
export function adminSocketBeside(socket: string): string {
  return `${socket.replace(/\.sock$/, "")}-admin.sock`;
}
