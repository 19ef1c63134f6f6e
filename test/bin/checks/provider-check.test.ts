import http from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { askProvider } from "../../../bin/checks/ask-provider.js";
import { judgeProvider } from "../../../bin/checks/provider-check.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";

function provider(yaml: string): ProviderConfig {
  const text = `providers: { p: { ${yaml} } }`;
  const built = resolveConfig({
    file: { path: "/s.yaml", text },
    flags: {},
    env: {},
    cwd: "/",
    uid: 0,
  });
  if (!built.ok) throw new Error(built.problems.map(({ message }) => message).join());
  return built.config.providers[0]!;
}

t.test("an answer, or none, is described in plain words", async (t) => {
  const configured = provider("base_url: 'http://h/v1', api_key: k");
  for (const [answer, state, text] of [
    [{ status: 200 }, "ok", /answers in 12 ms/],
    [{ status: 401 }, "failure", /refuses its key \(401\)/],
    [
      { status: 401, keyProblem: "/run/key (ENOENT)" },
      "warning",
      /you can't read its key: \/run\/key \(ENOENT\)/,
    ],
    [{ status: 404 }, "warning", /lists no models/],
    [{ status: 500 }, "failure", /answers 500/],
    [{ reason: "ECONNREFUSED" }, "failure", /nothing listens there/],
    [{ reason: "ENOTFOUND" }, "failure", /no address/],
    [{ reason: "DEPTH_ZERO_SELF_SIGNED_CERT" }, "failure", /ca_file/],
  ] as const)
    t.match(
      judgeProvider(configured, {
        status: null,
        ms: 12,
        dateMs: null,
        reason: null,
        keyProblem: null,
        ...answer,
      }),
      {
        name: "p",
        state,
        text,
      },
    );
  t.match(judgeProvider(provider("type: simulator"), null), { state: "ok", text: /simulator/ });
  const byCommand = provider("base_url: 'http://h/v1', api_key_command: x");
  const refused = { status: 401, ms: 1, dateMs: null, reason: null, keyProblem: null };
  t.match(judgeProvider(byCommand, refused), { state: "ok" });
});

t.test("a provider is asked with its key, and its clock is read", async (t) => {
  const seen: (string | undefined)[] = [];
  const server = http.createServer((request, response) => {
    seen.push(request.url, request.headers.authorization);
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const answer = await askProvider(
    provider(`base_url: 'http://127.0.0.1:${port}/v1', api_key: secret`),
  );
  t.match(answer, { status: 200, reason: null, dateMs: Number });
  t.same(seen, ["/v1/models", "Bearer secret"]);
  const keyless = provider(`base_url: 'http://127.0.0.1:${port}/v1', api_key_file: /nowhere/key`);
  t.match(await askProvider(keyless), { status: 200, keyProblem: "/nowhere/key (ENOENT)" });
  t.same(seen.slice(2), ["/v1/models", undefined]);
  t.match(await askProvider(provider("base_url: 'http://127.0.0.1:1/v1'")), {
    status: null,
    reason: "ECONNREFUSED",
  });
});
