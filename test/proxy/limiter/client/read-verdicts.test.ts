import t from "tap";
import { ReadVerdicts } from "../../../../proxy/limiter/client/read-verdicts.js";
import { connectionsNamedMax } from "../../../../shared/bounds.js";

t.test("a connection is named by its number, those before it by what was read of them", (t) => {
  const verdicts = new ReadVerdicts();
  t.same(verdicts.message(), { kind: "read", connection: 1, earlier: [] });
  verdicts.readOne();
  verdicts.readOne();
  t.equal(verdicts.count, 2);
  verdicts.connectionLost();
  t.equal(verdicts.count, 0);
  verdicts.readOne();
  verdicts.connectionLost();
  t.same(verdicts.message(), {
    kind: "read",
    connection: 3,
    earlier: [
      [1, 2],
      [2, 1],
    ],
  });
  t.end();
});

t.test("of many connections the last ones are named", (t) => {
  const verdicts = new ReadVerdicts();
  for (let i = 0; i < connectionsNamedMax + 3; i++) verdicts.connectionLost();
  const { connection, earlier } = verdicts.message();
  t.equal(connection, connectionsNamedMax + 4);
  t.equal(earlier.length, connectionsNamedMax);
  t.same(
    [earlier[0], earlier.at(-1)],
    [
      [4, 0],
      [connectionsNamedMax + 3, 0],
    ],
  );
  t.end();
});
