import t from "tap";
import { displayName, unknownOwnHeader } from "../../../proxy/http/own-headers.js";

const pathHeader = "x-sluice-user-path";

function problem(headers: readonly string[], userPathHeader = pathHeader) {
  const rawHeaders = headers.flatMap((name) => [name, "x-sluice-value"]);
  return unknownOwnHeader({ rawHeaders }, userPathHeader);
}

t.test("known headers and those of others pass", async (t) => {
  for (const headers of [
    [],
    ["X-Sluice-User-Path", "x-sluice-fallback", "X-SLUICE-PROVIDER"],
    ["Host", "Content-Type", "Content-Length", "x-stainless-os", "x-sluice", "x-sluicegate"],
  ])
    t.equal(problem(headers), null, headers.join(", "));
});

t.test("an unknown header is named, with the one that it is close to", async (t) => {
  for (const [name, message] of [
    ["X-Sluice-User-Paht", 'unknown header "X-Sluice-User-Paht"; did you mean X-Sluice-User-Path?'],
    ["x-sluice-userpath", 'unknown header "x-sluice-userpath"; did you mean X-Sluice-User-Path?'],
    ["X-Sluice-Falback", 'unknown header "X-Sluice-Falback"; did you mean X-Sluice-Fallback?'],
    [
      "x-sluice-target",
      'unknown header "x-sluice-target": expected X-Sluice-User-Path, X-Sluice-Fallback, X-Sluice-Provider',
    ],
  ] as const)
    t.match(
      problem(["accept", name]),
      { status: 400, type: "invalid_request_error", message, param: name },
      name,
    );
});

t.test("the header of the user path is the one that the operator named", async (t) => {
  t.equal(problem(["x-team"], "x-team"), null);
  t.match(problem(["X-Sluice-User-Path"], "x-team"), {
    message:
      'unknown header "X-Sluice-User-Path": expected X-Team, X-Sluice-Fallback, X-Sluice-Provider',
  });
  t.equal(displayName("x-team-path"), "X-Team-Path");
});
