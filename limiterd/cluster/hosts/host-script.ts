/**
 * What the engine does with a host's sign of life: `…:hosts`, a hash, has a row for each host, by
 * its id: when it was last heard of, the start number and a random number of its daemon, and what
 * it says of itself.
 */
import type { EngineScript } from "../engine/engine.js";

/**
 * Arguments: the host's id, start and random number, what it says, for how many ms a silent host
 * counts as alive, after how many its row is removed. Answers with `heard`, or `taken` if a daemon
 * with this id is alive that isn't an earlier start of this one; the engine's time; and id, time
 * and text of each host.
 */
export const hostScript: EngineScript = {
  name: "host",
  source: `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local text = function(n) return string.format('%.0f', n) end
-- nil for a row that no host has written, or one of the future, which would never expire.
local parse = function(row)
  local at, start, mark, said = string.match(row, '^(%d+) (%d+) (%S+) (.*)$')
  at, start = tonumber(at), tonumber(start)
  if not at or #row > 2000 or at > now + tonumber(ARGV[5]) then return nil end
  return at, start, mark, said
end
local status = 'heard'
local row = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(row) == 'table' and row.err then
  if not string.find(row.err, 'WRONGTYPE', 1, true) then return row end
  redis.call('DEL', KEYS[1])
  row = nil
end
if row then
  local at, start, mark = parse(row)
  if at and mark ~= ARGV[3] and start >= tonumber(ARGV[2]) and now - at < tonumber(ARGV[5]) then
    status = 'taken'
  end
end
if status == 'heard' then
  redis.call('HSET', KEYS[1], ARGV[1], text(now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
end
local answer = {status, text(now)}
local rows = redis.call('HGETALL', KEYS[1])
for i = 1, #rows, 2 do
  local at, start, mark, said = parse(rows[i + 1])
  if not at or now - at > tonumber(ARGV[6]) then redis.call('HDEL', KEYS[1], rows[i])
  else
    answer[#answer + 1] = rows[i]
    answer[#answer + 1] = text(at)
    answer[#answer + 1] = said
  end
end
return answer`,
};
