import t from "tap";
import { beginsWith } from "../../../shared/text/begins-with.js";

t.test("a name begins with another one in any case", async (t) => {
  const known = Buffer.from("x-request-id");
  for (const name of ["x-request-id", "X-Request-Id", "x-request-id-2"])
    t.equal(beginsWith(Buffer.from(name), known), true, name);
  for (const name of ["x-request", "y-request-id", "x_request_id", ""])
    t.equal(beginsWith(Buffer.from(name), known), false, name);
});
