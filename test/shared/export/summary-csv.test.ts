import t from "tap";
import { summaryCsv } from "../../../shared/export/summary-csv.js";

const group = {
  requests: 1,
  input_tokens: 2,
  output_tokens: 3,
  total_tokens: 5,
  total_cost: 0.25,
  unpriced_requests: 0,
};

t.test(
  "each group is a line; a name can't be a formula, and no number has an exponent",
  async (t) => {
    t.same(
      summaryCsv([
        { ...group, key: "/a,b" },
        { ...group, key: "key_1", name: '=cmd|"x"', total_cost: 0.000001 },
        { ...group, key: "@cf/llama", name: null, total_cost: 12345678.9 },
        { ...group, key: " -1", total_cost: 0 },
        {
          ...group,
          key: "/b",
          unknown_calls: 2,
          unknown_tokens_at_most: 900,
          unknown_cost_at_most: 0.5,
        },
      ]).split("\r\n"),
      [
        "key,name,requests,input_tokens,output_tokens,total_tokens,unpriced_requests,total_cost,unknown_calls,unknown_tokens_at_most,unknown_cost_at_most",
        '"/a,b",,1,2,3,5,0,0.25,0,0,0',
        'key_1,"\'=cmd|""x""",1,2,3,5,0,0.000001,0,0,0',
        "'@cf/llama,,1,2,3,5,0,12345678.9,0,0,0",
        "' -1,,1,2,3,5,0,0,0,0,0",
        "/b,,1,2,3,5,0,0.25,2,900,0.5",
        "",
      ],
    );
  },
);
