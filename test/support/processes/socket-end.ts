/**
 * A process that listens on a socket, which it makes or is given, or dials one, until it is killed.
 * A message makes it close.
 */
import { dial, listen } from "../../../shared/socket/ipc.js";

const [, , path, end, fd] = process.argv;
const handlers = {
  onConnect: () => {},
  onBytes: () => void process.send?.("bytes"),
  onClose: () => {},
};
if (end === "listen") {
  const inherited = fd === undefined ? {} : { fd: Number(fd) };
  const listener = await listen({ path: path!, allowsGroup: false, ...inherited, ...handlers });
  process.on("message", () => void listener.close());
} else dial({ path: path!, mayRetry: false, ...handlers, onError: () => {} });
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
