/** The parameters of a query. Those without a value, as forms send them, count as left out. */
export function queryParameters(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of [...parameters]) if (value === "") parameters.delete(name, "");
  return parameters;
}
