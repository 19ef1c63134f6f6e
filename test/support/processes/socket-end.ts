/** A process that listens on a socket, or dials it, until it is killed. */
import { dial, listen } from "../../../shared/socket/ipc.js";

const [, , path, end] = process.argv;
const handlers = {
  onConnect: () => {},
  onBytes: () => void process.send?.("bytes"),
  onClose: () => {},
};
if (end === "listen") await listen({ path: path!, groupAccess: false, ...handlers });
else dial({ path: path!, retry: false, ...handlers, onError: () => {} });
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
