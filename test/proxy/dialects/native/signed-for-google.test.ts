import t from "tap";
import { signedForGoogle } from "../../../../proxy/dialects/native/signed-for-google.js";
import { keptAsSignature } from "../../../../proxy/dialects/to-chat/kept-reasoning.js";

t.test("Google gets its own signatures, and its word for those of other models", async (t) => {
  const blocks = [{ type: "redacted_thinking", data: "ab+/" }];
  const own = [keptAsSignature({ text: "hm", blocks: [] }), keptAsSignature({ text: "", blocks })];
  const body = {
    contents: [
      {
        parts: [
          { functionCall: { name: "f" }, thoughtSignature: own[0] },
          { text: `"thoughtSignature":"${own[0]}" é` },
          { thought_signature: own[1] },
          { thoughtSignature: "CvcB" },
        ],
      },
    ],
  };
  const word = "skip_thought_signature_validator";
  const sent = JSON.parse(signedForGoogle(Buffer.from(JSON.stringify(body))).toString());
  t.strictSame(sent, {
    contents: [
      {
        parts: [
          { functionCall: { name: "f" }, thoughtSignature: word },
          { text: `"thoughtSignature":"${own[0]}" é` },
          { thought_signature: word },
          { thoughtSignature: "CvcB" },
        ],
      },
    ],
  });
  const others = Buffer.from('{"contents":[]}');
  t.equal(signedForGoogle(others), others);
});
