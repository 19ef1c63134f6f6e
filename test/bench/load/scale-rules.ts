/**
 * The rules of `npm run heavy -- bench:scale`: five that every admission matches, of all three
 * scopes and with a template among them, and any number beside them that it doesn't. No cap is ever
 * reached.
 */

export const scaleTarget = { provider: "bench", model: "bench-model" };
export const scaleCap = 1_000_000_000;

/** The template whose children are counted. */
export const templateKey = { scope: "user_path", subject: "/users", limit_key: { period: "hour" } };

/** A child of the template; the request comes from below it. */
export function childPath(n: number): string {
  return `/users/user-${String(n).padStart(8, "0")}/app`;
}

/** `rate_limits` of a configuration with `count` rules, at least five. */
export function scaleRules(count: number): object {
  const beside = count - 5;
  const limits = [{ period: "minute", max_requests: scaleCap }];
  const models = [{ model: scaleTarget.model, limits }];
  const providers = [{ name: scaleTarget.provider, limits }];
  const userPaths: object[] = [
    { path: "/", limits },
    { path: "/users", limits },
    {
      path: "/users",
      per_child: true,
      limits: [{ period: "hour", max_requests: scaleCap, max_tokens: 1000 * scaleCap }],
    },
  ];
  for (let i = 0; i < beside; i++) {
    if (i % 10 === 0) models.push({ model: `vendor-${i}/model-${i}`, limits });
    else if (i % 10 === 1) providers.push({ name: `provider-${i}`, limits });
    else
      userPaths.push({
        path: `/team-${i % 1000}/app-${i}`,
        limits,
        ...(i % 10 === 2 ? { per_child: true } : {}),
      });
  }
  return { user_paths: userPaths, providers, models };
}

/** A budget of each child, far above what it spends. */
export const scaleBudgets = {
  user_paths: [
    { path: "/users", per_child: true, limits: [{ period: "monthly", amount: 1_000_000 }] },
  ],
};
