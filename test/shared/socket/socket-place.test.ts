import t from "tap";
import {
  adminSocketBeside,
  type OwnedPath,
  placeProblem,
} from "../../../shared/socket/socket-place.js";

const me = 1000;
const other = 1001;
const at = (path: string, uid: number, mode: number): OwnedPath => ({ path, uid, mode });

interface Row {
  readonly name: string;
  readonly parent: readonly [uid: number, mode: number];
  readonly directory: readonly [uid: number, mode: number];
  readonly socket: number | null;
  /** Null: the place is to be trusted. */
  readonly problem: string | null;
}

const sticky = 0o41777;
const open = 0o40777;

const table: readonly Row[] = [
  {
    name: "mine in mine",
    parent: [0, 0o40755],
    directory: [me, 0o40700],
    socket: me,
    problem: null,
  },
  {
    name: "mine in /tmp",
    parent: [0, sticky],
    directory: [me, 0o40700],
    socket: me,
    problem: null,
  },
  { name: "to come", parent: [0, sticky], directory: [me, 0o40700], socket: null, problem: null },
  { name: "root's", parent: [0, 0o40755], directory: [0, 0o40755], socket: 0, problem: null },
  {
    name: "the daemon's, in a directory that root gave it",
    parent: [0, 0o40755],
    directory: [other, 0o40750],
    socket: other,
    problem: null,
  },
  {
    name: "another's, in a directory that only root can write",
    parent: [0, 0o40755],
    directory: [0, 0o40755],
    socket: other,
    problem: null,
  },
  {
    name: "mine among others'",
    parent: [0, 0o40755],
    directory: [0, sticky],
    socket: me,
    problem: null,
  },
  {
    name: "a stranger was in /tmp first",
    parent: [0, sticky],
    directory: [other, 0o40700],
    socket: other,
    problem: "/p/d belongs to another user (uid 1001), who may have made it in /p (mode 1777)",
  },
  {
    name: "a stranger was there first, and made it look harmless",
    parent: [0, sticky],
    directory: [other, 0o40755],
    socket: me,
    problem: "/p/d belongs to another user (uid 1001), who may have made it in /p (mode 1777)",
  },
  {
    name: "a stranger's directory in a stranger's",
    parent: [other, 0o40755],
    directory: [other, 0o40755],
    socket: other,
    problem: "/p/d belongs to another user (uid 1001), who may have made it in /p (mode 0755)",
  },
  {
    name: "a directory that the group of its parent may have made",
    parent: [0, 0o40775],
    directory: [other, 0o40755],
    socket: other,
    problem: "/p/d belongs to another user (uid 1001), who may have made it in /p (mode 0775)",
  },
  {
    name: "a stranger's socket among others'",
    parent: [0, 0o40755],
    directory: [0, sticky],
    socket: other,
    problem: "/p/d/s belongs to another user (uid 1001), who may have made it in /p/d (mode 1777)",
  },
  {
    name: "a stranger's socket in a directory of my group",
    parent: [0, 0o40755],
    directory: [me, 0o40770],
    socket: other,
    problem: "/p/d/s belongs to another user (uid 1001), who may have made it in /p/d (mode 0770)",
  },
  {
    name: "my socket, which anyone can exchange",
    parent: [0, 0o40755],
    directory: [me, open],
    socket: me,
    problem:
      "anyone may exchange the socket in /p/d (mode 0777): use a directory of its own, or set the sticky bit",
  },
];

t.test(
  "a place is trusted if only the user, root, or whom they gave it can have put the socket there",
  (t) => {
    for (const { name, parent, directory, socket, problem } of table)
      t.equal(
        placeProblem(
          {
            parent: at("/p", ...parent),
            directory: at("/p/d", ...directory),
            socket: socket === null ? null : at("/p/d/s", socket, 0o140600),
          },
          me,
        ),
        problem,
        name,
      );
    t.end();
  },
);

t.test("root trusts no more than others do", (t) => {
  const parent = at("/tmp", 0, sticky);
  const directory = at("/tmp/sluice-1001", other, 0o40700);
  t.match(placeProblem({ parent, directory, socket: null }, 0), /belongs to another user/);
  t.end();
});

t.test("each socket has its own beside it for administration", (t) => {
  t.equal(adminSocketBeside("/run/sluice/limiterd.sock"), "/run/sluice/limiterd-admin.sock");
  t.equal(adminSocketBeside("/run/sluice/second"), "/run/sluice/second-admin.sock");
  t.end();
});
