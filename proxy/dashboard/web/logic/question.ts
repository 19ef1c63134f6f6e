/** The question to explain, as in the page's address. Pure. */

export interface Question {
  readonly by: "path" | "request";
  readonly path: string;
  readonly model: string;
  readonly key: string;
  readonly session: string;
  readonly requestId: string;
}

export function questionOf(query: URLSearchParams): Question {
  const requestId = query.get("request_id") ?? "";
  return {
    by: requestId !== "" || query.get("by") === "request" ? "request" : "path",
    path: query.get("path") ?? "",
    model: query.get("model") ?? "",
    key: query.get("key") ?? "",
    session: query.get("session") ?? "",
    requestId,
  };
}

/**
 * The parameters of the address. Only the id of a key may be in it, never its value: browsers store
 * addresses in their history.
 */
export function questionQuery(question: Question): Record<string, string | null> {
  const isByPath = question.by === "path";
  return {
    by: null,
    path: isByPath ? question.path.trim() : null,
    model: isByPath ? question.model.trim() : null,
    key: isByPath && isKeyId(question.key) ? question.key.trim() : null,
    session: isByPath ? question.session.trim() : null,
    request_id: isByPath ? null : question.requestId.trim(),
  };
}

function isKeyId(key: string): boolean {
  return /^key_\d+$/.test(key.trim());
}

/** The body of the question; null if it isn't complete. */
export function questionBody(question: Question): Record<string, string> | null {
  if (question.by === "request") {
    const id = question.requestId.trim();
    return id === "" ? null : { request_id: id };
  }
  const model = question.model.trim();
  if (model === "") return null;
  return {
    model,
    ...(question.path.trim() === "" ? {} : { user_path: question.path.trim() }),
    ...(question.key.trim() === "" ? {} : { key: question.key.trim() }),
    ...(question.session.trim() === "" ? {} : { session: question.session.trim() }),
  };
}
