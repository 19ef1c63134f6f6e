import t from "tap";
import { renderQueues } from "../../../bin/live/queue-table.js";

t.test("the table of waiting requests", async (t) => {
  t.equal(renderQueues({ queues: [] }), "no request waits");
  const queues = [
    {
      limit: "the minute request limit of /team",
      scope: "user_path",
      subject: "/team",
      period_seconds: 60,
      dimension: "requests",
      waiting: 5,
      classes: [
        { user_path: "/team/app", waiting: 3 },
        { user_path: "/team", waiting: 2 },
      ],
      oldest_seconds: 4,
      expected_seconds: 66,
    },
  ];
  const enqueued = [{ user_path: "/team", tokens: 1200, max_tokens: 2_000_000 }];
  const table = renderQueues({ queues, enqueued });
  t.match(table, /\nbatches of \/team: 1200 of 2000000 tokens are enqueued$/);
  t.match(table, /LIMIT +WAITING +LONGEST +EXPECTED +CLASSES/);
  t.match(table, /the minute request limit of \/team +5 +4s +1m 6s +\/team\/app 3, \/team 2/);
});
