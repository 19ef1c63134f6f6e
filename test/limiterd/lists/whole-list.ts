/** The query of a list that nothing narrows. */
import type { ListQuery } from "../../../limiterd/lists/list-query.js";
import { itemsPerPage } from "../../../shared/bounds.js";

export const wholeList: ListQuery = {
  after: null,
  limit: itemsPerPage,
  search: "",
  userPath: "/",
  chosen: {},
};
