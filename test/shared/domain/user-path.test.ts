import fc from "fast-check";
import t from "tap";
import { userPathBytesMax, userPathSegmentsMax } from "../../../shared/bounds.js";
import { isNormalUserPath, normalizeUserPath } from "../../../shared/domain/user-path.js";
import { anyText } from "../../support/any-text.js";

t.test("a path is trimmed, led by a slash and freed of empty segments; case is kept", async (t) => {
  const table: readonly (readonly [raw: string, path: string])[] = [
    ["", "/"],
    ["/", "/"],
    ["  ", "/"],
    ["///", "/"],
    [" / / ", "/"],
    ["team", "/team"],
    ["/team/", "/team"],
    ["  /team/app  ", "/team/app"],
    ["/ team / my app /", "/team/my app"],
    ["//team///app//", "/team/app"],
    ["\t/team\n", "/team"],
    ["/Team/APP", "/Team/APP"],
    ["/.hidden/..more/a..b/.../-", "/.hidden/..more/a..b/.../-"],
    ["/größe/日本/🙂", "/größe/日本/🙂"],
    ["/a%2Fb/*?#\\", "/a%2Fb/*?#\\"],
  ];
  for (const [raw, path] of table)
    t.same(normalizeUserPath(raw), { ok: true, path }, JSON.stringify(raw));
});

t.test("a dot segment, a colon and a control character are errors that say so", async (t) => {
  const table: readonly (readonly [raw: string, reason: RegExp])[] = [
    ["/team/..", /segment \.\.$/],
    ["/../etc", /segment \.\.$/],
    ["/team/./app", /segment \.$/],
    ["/ . /app", /segment \.$/],
    ["..", /segment \.\.$/],
    ["/team:app", /colon/],
    ["/:", /colon/],
    ["/a\u0000b", /control/],
    ["/a\u0007", /control/],
    ["/a\tb", /control/],
    ["/a\nb", /control/],
    ["/a\u007f", /control/],
  ];
  for (const [raw, reason] of table)
    t.match(normalizeUserPath(raw), { ok: false, reason }, JSON.stringify(raw));
});

t.test("the control characters beyond ASCII are control characters too", async (t) => {
  for (const raw of ["/a\u0080", "/a\u0085b", "/a\u009fb"])
    t.match(normalizeUserPath(raw), { ok: false, reason: /control/ }, JSON.stringify(raw));
});

t.test("at most 32 segments and 1,024 bytes, both counted after normalizing", async (t) => {
  const segments = (count: number, segment = "a"): string =>
    `/${Array<string>(count).fill(segment).join("/")}`;
  t.equal(normalizeUserPath(segments(userPathSegmentsMax)).ok, true);
  t.match(normalizeUserPath(segments(userPathSegmentsMax + 1)), {
    ok: false,
    reason: /32 segments/,
  });
  t.equal(
    normalizeUserPath(segments(userPathSegmentsMax, "/ a /")).ok,
    true,
    "empty segments aren't counted",
  );
  const long = (bytes: number, letter: string): string =>
    `/${letter.repeat((bytes - 1) / Buffer.byteLength(letter))}`;
  for (const letter of ["a", "é", "🙂"]) {
    const bytes =
      letter === "a"
        ? userPathBytesMax
        : letter === "é"
          ? userPathBytesMax - 1
          : userPathBytesMax - 3;
    t.equal(normalizeUserPath(long(bytes, letter)).ok, true, `${letter}: ${bytes}`);
    t.match(
      normalizeUserPath(long(bytes + Buffer.byteLength(letter), letter)),
      { ok: false, reason: /1024 bytes/ },
      `${letter}: one more`,
    );
  }
  t.equal(normalizeUserPath(` ${"/".repeat(3000)}a `).ok, true, "slashes aren't counted");
  t.equal(
    normalizeUserPath(segments(16, "b".repeat(63))).ok,
    true,
    "the longest path that the quick look takes",
  );
});

/** Texts that are likely to be near a path, and any others. */
const nearPath = fc.oneof(
  anyText(),
  fc.string({
    unit: fc.constantFrom(
      "/",
      "/",
      ".",
      "..",
      " ",
      "a",
      "B",
      "-",
      "_",
      ":",
      "é",
      "\t",
      "\u0000",
      "\u00a0",
      "\ufeff",
    ),
  }),
  fc
    .array(fc.stringMatching(/^[\w.-]{1,70}$/), { maxLength: 36 })
    .map((segments) => `/${segments.join("/")}`),
);

t.test(
  "normalizing twice is normalizing once, and only what is normal passes for it",
  async (t) => {
    fc.assert(
      fc.property(nearPath, (raw) => {
        const once = normalizeUserPath(raw);
        if (!once.ok) return !isNormalUserPath(raw);
        const twice = normalizeUserPath(once.path);
        return (
          twice.ok &&
          twice.path === once.path &&
          isNormalUserPath(once.path) &&
          isNormalUserPath(raw) === (raw === once.path)
        );
      }),
      { numRuns: 3000 },
    );
    t.pass("3000 texts");
  },
);

t.test("a normal path holds to every rule that is written", async (t) => {
  fc.assert(
    fc.property(nearPath, (raw) => {
      const result = normalizeUserPath(raw);
      if (!result.ok) return true;
      const { path } = result;
      const segments = path === "/" ? [] : path.slice(1).split("/");
      return (
        path.startsWith("/") &&
        segments.length <= userPathSegmentsMax &&
        Buffer.byteLength(path) <= userPathBytesMax &&
        segments.every(
          (segment) =>
            segment !== "" &&
            segment === segment.trim() &&
            segment !== "." &&
            segment !== ".." &&
            !segment.includes(":"),
        )
      );
    }),
    { numRuns: 3000 },
  );
  t.pass("3000 texts");
});

t.test("halves of surrogate pairs count as many bytes as they take", async (t) => {
  t.notOk(
    normalizeUserPath(`/${"\ud800\uffff".repeat(200)}`).ok,
    "halves of surrogate pairs, of which each has as many bytes as a whole character",
  );
});
