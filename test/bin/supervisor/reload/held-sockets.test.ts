import t from "tap";
import {
  closeSockets,
  heldFromUnit,
  holdSockets,
} from "../../../../bin/supervisor/reload/held-sockets.js";

/** Binds descriptors in turn, but never the port 99. */
function binder() {
  const open = new Set<number>();
  let next = 10;
  const bind = async (_host: string, port: number) => {
    if (port === 99) throw new Error("taken");
    const fd = next++;
    open.add(fd);
    return { fd, close: () => void open.delete(fd) };
  };
  return { bind, open };
}

const host = "127.0.0.1";
const admin = { host, port: 81 };
const unit = heldFromUnit({
  from: "unit",
  byName: new Map([
    ["http", [3, 4]],
    ["admin", [5]],
  ]),
});
const fds = (sockets: readonly { name: string; fd: number }[]): string =>
  sockets.map(({ name, fd }) => `${name}=${fd}`).join(" ");

t.test("each address has a socket; those that stay are kept, others are closed", async (t) => {
  const { bind, open } = binder();
  const first = await holdSockets({ host, port: 80, admin }, [], bind);
  t.equal(fds(first), "http=10 admin=11");
  const second = await holdSockets({ host, port: 82, admin }, first, bind);
  t.equal(fds(second), "http=12 admin=11");
  closeSockets(first, second);
  t.same([...open], [11, 12]);
  const third = await holdSockets({ host, port: 82, admin: null }, second, bind);
  t.equal(fds(third), "http=12");
  closeSockets(second, third);
  t.same([...open], [12]);
});

t.test("an address that is taken leaves nothing behind, and what is held stays", async (t) => {
  const { bind, open } = binder();
  const held = await holdSockets({ host, port: 80, admin: null }, [], bind);
  const wrong = { host, port: 83, admin: { host, port: 99 } };
  await t.rejects(holdSockets(wrong, held, bind), { message: "taken" });
  t.same([...open], [10]);
});

t.test("sockets of a unit are known by their names, whatever the addresses are", async (t) => {
  const { bind, open } = binder();
  t.equal(fds(await holdSockets({ host, port: 99, admin }, unit, bind)), "http=3 http=4 admin=5");
  const http = unit.filter(({ name }) => name === "http");
  t.equal(fds(await holdSockets({ host, port: 99, admin }, http, bind)), "http=3 http=4 admin=10");
  closeSockets(unit);
  t.same([...open], [10]);
});
