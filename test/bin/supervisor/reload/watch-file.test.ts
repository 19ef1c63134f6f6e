import t from "tap";
import { SettledFile } from "../../../../bin/supervisor/reload/watch-file.js";

/** What each look finds; `!` after the one at which a change has settled. */
const cases: Readonly<Record<string, string>> = {
  "a file that doesn't change": "a a a a a",
  "a change settles once, after two looks that find the same": "a b b b! b b",
  "one that is still written doesn't, however long that takes": "a b c d e f g g g!",
  "emptied, half and whole": "a empty empty half half whole whole whole!",
  "a file that is missing for a moment, and comes back": "a - - a a a a",
  "and comes back as another": "a - b b b!",
  "a missing one while it settles": "a b - b - b!",
  "one that is missing from the start": "- - a a a!",
  "changed back meanwhile: it was read as it was then": "a b a a a!",
  "two changes": "a b b b! b c c c! c",
};

t.test("a change counts once the file stays as it is", async (t) => {
  for (const [name, looks] of Object.entries(cases)) {
    const file = new SettledFile();
    const seen = looks
      .split(" ")
      .map((look) => look.replace("!", ""))
      .map((state) => `${state}${file.look(state === "-" ? null : state) ? "!" : ""}`);
    t.equal(seen.join(" "), looks, name);
  }
});
