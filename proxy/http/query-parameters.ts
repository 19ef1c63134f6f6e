/** The parameters of a query. A parameter without a value, as forms send it, counts as absent. */
export function queryParameters(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of [...parameters]) if (value === "") parameters.delete(name, "");
  return parameters;
}
