import t from "tap";
import { SignInAttempts } from "../../../../proxy/auth/session/sign-in-attempts.js";

t.test("after ten wrong attempts a client waits until the first is a minute old", async (t) => {
  const attempts = new SignInAttempts();
  for (let i = 0; i < 10; i++) t.equal(attempts.begin("a", i * 1000), null);
  t.equal(attempts.begin("a", 10_000), 50);
  t.equal(attempts.begin("a", 59_999), 1);
  t.equal(attempts.begin("b", 10_000), null, "others don't wait");
  t.equal(attempts.begin("a", 60_000), null, "as it was told");
  t.equal(attempts.begin("a", 60_000), 1, "the second is a minute old in a second");
  t.equal(attempts.begin("a", 61_000), null);
});

t.test("an attempt that wasn't wrong doesn't count", async (t) => {
  const attempts = new SignInAttempts();
  for (let i = 0; i < 100; i++) {
    t.equal(attempts.begin("a", i), null);
    attempts.takeBack("a", i);
  }
  t.equal(attempts.clients, 0);
  attempts.takeBack("nobody", 1);
  for (let i = 0; i < 10; i++) attempts.begin("a", i);
  attempts.takeBack("a", 77);
  t.equal(attempts.begin("a", 10), 60, "one that never began takes nothing back");
});

t.test("as many clients as come are remembered in bounded memory", async (t) => {
  const attempts = new SignInAttempts();
  for (let i = 0; i < 10; i++) attempts.begin("first", 0);
  for (let i = 0; i < 10_000; i++) attempts.begin(`client ${i}`, 1);
  t.equal(attempts.clients, 10_000);
  t.equal(attempts.begin("first", 2), null, "the one that has been quiet longest is forgotten");
});
