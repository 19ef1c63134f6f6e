import t from "tap";
import { parseFollowQuery, showCursor } from "../../../limiterd/lists/follow-query.js";
import { exportedRecordsMax } from "../../../shared/bounds.js";

const first = {
  after: null,
  from: "start",
  limit: exportedRecordsMax,
  follower: null,
  finished: false,
};

t.test("what a follower asks for, from the first record on without a cursor", async (t) => {
  for (const [body, differing] of [
    [null, {}],
    [undefined, {}],
    [{}, {}],
    [{ from: "now" }, { from: "now" }],
    [{ limit: 1 }, { limit: 1 }],
    [{ limit: exportedRecordsMax }, {}],
    [{ follower: "a.b-c_1" }, { follower: "a.b-c_1" }],
    [{ follower: "x".repeat(64) }, { follower: "x".repeat(64) }],
    // Null from the command line: the option isn't given.
    [{ after: null, from: null, limit: null, follower: null, finished: null }, {}],
    [{ finished: true }, { finished: true }],
    [{ finished: "true" }, { finished: true }],
    [{ finished: "false" }, {}],
    [{ after: "store-1/7.2" }, { after: { storeId: "store-1", key: 7, index: 2 } }],
  ] as const)
    t.same(
      parseFollowQuery(body),
      { ok: true, value: { ...first, ...differing } },
      JSON.stringify(body),
    );
  t.equal(showCursor({ storeId: "store-1", key: 7, index: 2 }), "store-1/7.2");
});

t.test("what isn't asked so is refused by the field's name", async (t) => {
  for (const [body, param, message] of [
    [[], "body", /object/],
    [{ before: 1 }, "before", /expected after, from, limit, follower/],
    [{ after: 7 }, "after", /next of the previous page/],
    [{ after: ["store-1/7.2"] }, "after", /next of the previous page/],
    [{ after: "7.2" }, "after", /next of the previous page/],
    [{ after: "store-1/7" }, "after", /next of the previous page/],
    [{ after: "/7.2" }, "after", /next of the previous page/],
    [{ after: `${"x".repeat(65)}/7.2` }, "after", /next of the previous page/],
    [{ limit: 0 }, "limit", /from 1 to/],
    [{ limit: exportedRecordsMax + 1 }, "limit", /from 1 to/],
    [{ from: "end" }, "from", /start or now, not "end"/],
    [{ from: 7 }, "from", /start or now, not 7/],
    [{ follower: "" }, "follower", /1 to 64 letters/],
    [{ follower: "a b" }, "follower", /not "a b"/],
    [{ follower: "x".repeat(65) }, "follower", /1 to 64 letters/],
    [{ follower: 7 }, "follower", /not 7/],
    [{ finished: "yes" }, "finished", /true or false, not "yes"/],
  ] as const)
    t.match(
      parseFollowQuery(body),
      { ok: false, failure: { param, message } },
      JSON.stringify(body),
    );
});
