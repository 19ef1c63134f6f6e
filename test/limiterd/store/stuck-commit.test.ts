import t from "tap";
import { createStuckCommit, stuckCommitMs } from "../../../limiterd/store/stuck-commit.js";

t.test("a commit is stuck when it has neither been written nor failed for too long", async (t) => {
  let nowMs = 0;
  const commits = { committing: false, ended: 0 };
  const stuck = createStuckCommit(commits, () => nowMs);
  nowMs = stuckCommitMs * 2;
  t.equal(stuck(), null, "none runs");
  commits.committing = true;
  nowMs += stuckCommitMs - 1;
  t.equal(stuck(), null);
  nowMs += 1;
  t.equal(stuck(), "a write to the store hasn't ended for 120 s");
  commits.ended++;
  t.equal(stuck(), null, "it has failed, and is tried again");
  nowMs += stuckCommitMs;
  t.equal(stuck(), "a write to the store hasn't ended for 120 s");
  commits.committing = false;
  t.equal(stuck(), null);
});
