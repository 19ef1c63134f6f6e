/** What is asked to be explained: in the address, and in the request. */
import t from "tap";
import {
  questionBody,
  questionOf,
  questionQuery,
} from "../../../proxy/dashboard/web/logic/question.js";

const of = (text: string) => questionOf(new URLSearchParams(text));

t.test("an address is a question, and a question an address", async (t) => {
  t.same(questionBody(of("path=/team&model=smart")), { user_path: "/team", model: "smart" });
  t.same(questionBody(of("request_id=req_1&model=ignored")), { request_id: "req_1" });
  t.same(questionBody(of("model= gpt ")), { model: "gpt" });
  t.same(questionBody(of("model=m&key=key_7")), { model: "m", key: "key_7" });
  t.same(questionBody(of("model=m&session= s1 ")), { model: "m", session: "s1" });
  t.match(questionQuery(of("model=m&session=s1")), { model: "m", session: "s1" });
  t.match(questionQuery(of("request_id=req_1&path=/x")), { request_id: "req_1", path: null });
});

t.test("what isn't complete isn't asked", async (t) => {
  for (const text of ["", "path=/team", "by=request", "model=%20", "request_id=%20"])
    t.equal(questionBody(of(text)), null, text);
});

t.test("a key's value is never in the address, where histories keep it", async (t) => {
  const secret = { ...of("model=m"), key: "sk-sluice-secret" };
  t.equal(questionQuery(secret)["key"], null);
  t.match(questionBody(secret), { key: "sk-sluice-secret" }, "and is asked with");
  t.equal(questionQuery({ ...secret, key: " key_12 " })["key"], "key_12");
});
