/**
 * The engine's scripts for definitions; each runs as one step. All keys share a hash slot:
 *
 * - `…:definitions`, a hash: `stamp:value` by field, the value as JSON, `null` if the definition is
 *   deleted;
 * - `…:order`, a sorted set: fields by when the engine last took them; hosts read the changes after
 *   an order;
 * - `…:deleted`, a sorted set: the deleted fields by their stamps;
 * - `…:state`, a hash: `order` of the last change; `sum` of the stamps of all that aren't deleted
 *   and `live`, their number, with which hosts detect that an engine has lost definitions;
 *   `trimmed`, the latest stamp of a deleted field that was removed; `id` of the cluster.
 *
 * Stamps and orders are microseconds of the engine's clock. Each is higher than all before it, so
 * an engine that has lost its data never assigns an old one again. Of two values of one field, the
 * one with the later stamp applies.
 */
import type { EngineScript } from "../engine/engine.js";

const shared = `
local defs, order, deleted, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local text = function(n) return string.format('%.0f', n) end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local modulus = 1125899906842624
-- Above all orders and stamps, also when the engine's clock was once far ahead.
local top = 9006000000000000
local is_count = function(value, max)
  local n = string.find(value, '^%d+$') and #value <= 16 and tonumber(value)
  return n and n <= max
end
-- The stamp and value of an entry; nil if it isn't one.
local parse = function(packed)
  local stamp, value = string.match(packed, '^(%d+):(.*)$')
  if not stamp or not is_count(stamp, top) then return nil end
  if value == 'null' then return tonumber(stamp), value end
  local isJson, list = pcall(cjson.decode, value)
  if not isJson or type(list) ~= 'table' or string.sub(value, 1, 1) ~= '[' then return nil end
  return tonumber(stamp), value
end
-- Impossible values were damaged, or written by another program. Then all definitions are deleted,
-- and hosts send them again.
local forget = function() redis.call('DEL', defs, order, deleted, state) end
local is_sound = function()
  for i, kind in ipairs({'hash', 'sorted set', 'sorted set', 'hash'}) do
    local found = redis.pcall(kind == 'hash' and 'HGET' or 'ZSCORE', KEYS[i], 'order')
    if type(found) == 'table' and found.err then
      if not string.find(found.err, 'WRONGTYPE', 1, true) then return found end
      return false
    end
  end
  for _, name in ipairs({'order', 'trimmed', 'sum', 'live'}) do
    local value = redis.call('HGET', state, name)
    if value and not is_count(value, name == 'sum' and modulus or top) then return false end
  end
  local last = tonumber(redis.call('HGET', state, 'order') or '0')
  if tonumber(redis.call('HGET', state, 'trimmed') or '0') > last then return false end
  if #(redis.call('HGET', state, 'id') or '') > 100 then return false end
  return #redis.call('ZRANGEBYSCORE', order, text(top), '+inf', 'LIMIT', 0, 1) == 0
end
local sound = is_sound()
if sound == false then forget() elseif sound ~= true then return sound end
local read = function(name) return tonumber(redis.call('HGET', state, name) or '0') end
local count = function(stamp, sign)
  redis.call('HSET', state, 'sum', text((read('sum') + sign * (stamp % modulus)) % modulus))
  redis.call('HSET', state, 'live', text(math.max(0, read('live') + sign)))
end
local put = function(field, stamp, value, at)
  local before = redis.call('HGET', defs, field)
  if before then
    local old, was = parse(before)
    if old and was ~= 'null' then count(old, -1) end
  end
  redis.call('HSET', defs, field, text(stamp) .. ':' .. value)
  redis.call('ZADD', order, text(at), field)
  if value == 'null' then redis.call('ZADD', deleted, text(stamp), field)
  else redis.call('ZREM', deleted, field) count(stamp, 1) end
end
local next_order = function(above) return math.max(now, read('order') + 1, above + 1) end
`;

/**
 * Writes all fields, unless one of them was changed after `base`, the order up to which the host
 * has read. Arguments: base, the channel, then field and value of each. Answers `behind` if the
 * engine's last change is before `base`; `conflict` if a field was changed; or `written`, the order
 * before, and the stamp, which is also the order.
 */
export const writeScript: EngineScript = {
  name: "definitions-write",
  source: `${shared}
local base = tonumber(ARGV[1])
local before = read('order')
if before < base then return {'behind'} end
for i = 3, #ARGV, 2 do
  local at = redis.call('ZSCORE', order, ARGV[i])
  if at and tonumber(at) > base then return {'conflict'} end
end
local at = next_order(base)
for i = 3, #ARGV, 2 do
  local stamp = parse(redis.call('HGET', defs, ARGV[i]) or '')
  if stamp and stamp >= at then at = stamp + 1 end
end
for i = 3, #ARGV, 2 do put(ARGV[i], at, ARGV[i + 1], at) end
redis.call('HSET', state, 'order', text(at))
redis.call('PUBLISH', ARGV[2], text(at))
return {'written', text(before), text(at)}`,
};

/**
 * Reads the changes after an order. Arguments: the order, and about how many fields to return at
 * most: fields that were written together stay together. Answers with the state (order, sum, live,
 * trimmed, id), then field, order, and `stamp:value` of each, in ascending order.
 */
export const readScript: EngineScript = {
  name: "definitions-read",
  source: `${shared}
local after, most = ARGV[1], tonumber(ARGV[2])
local found = redis.call('ZRANGEBYSCORE', order, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
if #found == 2 * most then
  local last = found[#found]
  while #found > 0 and found[#found] == last do
    table.remove(found)
    table.remove(found)
  end
  local together = redis.call('ZRANGEBYSCORE', order, last, last, 'WITHSCORES')
  for i = 1, #together do found[#found + 1] = together[i] end
end
local answer = {text(read('order')), text(read('sum')), text(read('live')), text(read('trimmed')),
  redis.call('HGET', state, 'id') or ''}
for i = 1, #found, 2 do
  local packed = redis.call('HGET', defs, found[i])
  if not packed or not parse(packed) then
    forget()
    return {'0', '0', '0', '0', ''}
  end
  answer[#answer + 1] = found[i]
  answer[#answer + 1] = text(tonumber(found[i + 1]))
  answer[#answer + 1] = packed
end
return answer`,
};

/**
 * Takes over a host's definitions that the engine lacks or has with an earlier stamp. Arguments:
 * the channel, the id of the cluster, the last trimmed stamp, an order that the host knows; then
 * field, stamp and value of each. Answers with how many it refused, because the engine has another
 * value with the same stamp or a later one.
 */
export const restateScript: EngineScript = {
  name: "definitions-restate",
  source: `${shared}
redis.call('HSETNX', state, 'id', ARGV[2])
if tonumber(ARGV[3]) > read('trimmed') then redis.call('HSET', state, 'trimmed', ARGV[3]) end
local refused = 0
local at = next_order(math.max(tonumber(ARGV[3]), tonumber(ARGV[4])))
for i = 5, #ARGV, 3 do
  local before = redis.call('HGET', defs, ARGV[i])
  local stamp = tonumber(ARGV[i + 1])
  local old, was
  if before then old, was = parse(before) end
  if stamp > (old or 0) then
    put(ARGV[i], stamp, ARGV[i + 2], at)
    at = at + 1
  else
    if was ~= ARGV[i + 2] then refused = refused + 1 end
    if old and tonumber(redis.call('ZSCORE', order, ARGV[i]) or 0) <= 0 then
      redis.call('ZADD', order, text(at), ARGV[i])
      at = at + 1
    end
  end
end
-- A host that has nothing to add and still finds another sum is right: all is summed again.
if #ARGV == 4 then
  local sum, live, all = 0, 0, redis.call('HGETALL', defs)
  for i = 1, #all, 2 do
    local stamp, value = parse(all[i + 1])
    if not stamp then redis.call('HDEL', defs, all[i]) redis.call('ZREM', order, all[i])
    elseif value ~= 'null' then sum, live = (sum + stamp % modulus) % modulus, live + 1 end
  end
  redis.call('HSET', state, 'sum', text(sum), 'live', text(live))
end
redis.call('HSET', state, 'order', text(at))
redis.call('PUBLISH', ARGV[1], text(at))
return refused`,
};

/**
 * Removes fields that were deleted before a stamp. Arguments: the stamp, and how many to remove at
 * most. Answers with how many it took.
 */
export const trimScript: EngineScript = {
  name: "definitions-trim",
  source: `${shared}
local gone = redis.call('ZRANGEBYSCORE', deleted, '-inf', '(' .. ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #gone, 2 do
  local stamp, value = parse(redis.call('HGET', defs, gone[i]) or '')
  redis.call('ZREM', deleted, gone[i])
  if not stamp or value == 'null' then
    redis.call('HDEL', defs, gone[i])
    redis.call('ZREM', order, gone[i])
  end
  if value == 'null' and tonumber(gone[i + 1]) == stamp and stamp > read('trimmed') then
    redis.call('HSET', state, 'trimmed', text(tonumber(gone[i + 1])))
  end
end
return #gone / 2`,
};
