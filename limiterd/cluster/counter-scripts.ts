/**
 * The engine's Lua scripts for a counter: `sync` replaces one host's row and grants units and
 * slots, `read` adds up the rows, tokens and slots in use without those of the asking host, which
 * knows its own better. Both use the engine's clock for all rows.
 * `test/support/cluster/counter-twin.ts` implements them in TypeScript, and tests compare the two.
 *
 * A counter is one hash: `g` is its generation, `b` its creation time, `s` the time until which
 * nothing is granted, and each `h:<host>` a row of integers (`row` below). No sum is stored. A row
 * has the counts of its window and of the one before it; each reader rolls them to the current
 * window.
 */

import type { EngineScript } from "./engine/engine.js";

/** How far a time in a counter may be ahead of the engine's clock, in ms: clocks are set back. */
const aheadMsMax = 60_000;

/** Lua 5.1 has only doubles, so every number here is an integer of at most 2^53 − 1. */
const common = `
local most = 9007199254740991
local function add(a, b) return math.min(a + b, most) end
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local function numbersIn(text)
  local numbers = {}
  for word in string.gmatch(text, '%S+') do numbers[#numbers + 1] = tonumber(word) end
  return numbers
end

-- An impossible value is damaged, or from another program: it counts as lost.
local function isCount(number, max)
  return number ~= nil and number >= 0 and number <= max and number == math.floor(number)
end
local soon, later = now + ${aheadMsMax}, now + 2 * ${aheadMsMax}

-- Of a row: format start seq at window current previous frozen frozenBefore tokens tokensBefore
-- slots slotsUntil frozenSlots frozenSlotsUntil.
local function row(text)
  if #text > 300 then return nil end
  local numbers = numbersIn(text)
  if numbers[1] ~= 1 or #numbers ~= 15 then return nil end
  for _, number in ipairs(numbers) do
    if not isCount(number, most) then return nil end
  end
  if numbers[4] > soon or numbers[13] > later or numbers[15] > later then return nil end
  return {
    start = numbers[2], seq = numbers[3], at = numbers[4], window = numbers[5],
    current = numbers[6], previous = numbers[7],
    frozen = numbers[8], frozenBefore = numbers[9],
    tokens = numbers[10], tokensBefore = numbers[11],
    slots = numbers[12], slotsUntil = numbers[13],
    frozenSlots = numbers[14], frozenSlotsUntil = numbers[15],
  }
end

-- Converts the counts of one window and of the one before it to another window.
local function roll(own, current, previous, window)
  if own == window then return current, previous end
  if own > window then return add(current, previous), 0 end
  if own == window - 1 then return 0, current end
  return 0, 0
end

local function windowOf(period)
  if period == 0 then return 0 end
  return math.floor(now / period)
end

local function sums(rows, window)
  local all = { requests = 0, requestsBefore = 0, tokens = 0, tokensBefore = 0, slots = 0 }
  for _, each in pairs(rows) do
    local current, previous = roll(each.window, each.current, each.previous, window)
    all.requests = add(all.requests, current)
    all.requestsBefore = add(all.requestsBefore, previous)
    current, previous = roll(each.window, each.tokens, each.tokensBefore, window)
    all.tokens = add(all.tokens, current)
    all.tokensBefore = add(all.tokensBefore, previous)
    if each.slotsUntil > now then all.slots = add(all.slots, each.slots) end
    if each.frozenSlotsUntil > now then all.slots = add(all.slots, each.frozenSlots) end
  end
  return all
end

-- Bad fields are lost; a counter is damaged if others may have counted more than it has.
local counter, bad, isDamaged = { rows = {} }, {}, false
local stored = redis.pcall('HGETALL', KEYS[1])
if stored.err then
  if not string.find(stored.err, 'WRONGTYPE', 1, true) then return stored end
  redis.call('DEL', KEYS[1])
  stored = {}
end
local maxOf = { g = now * 1000 + 86400000000, b = soon, s = soon }
for i = 1, #stored, 2 do
  local field, value = stored[i], stored[i + 1]
  if string.sub(field, 1, 2) == 'h:' then
    counter.rows[string.sub(field, 3)] = row(value)
    if counter.rows[string.sub(field, 3)] == nil then bad[#bad + 1] = field end
  elseif maxOf[field] then
    local number = tonumber(value)
    if isCount(number, maxOf[field]) then counter[field] = number else isDamaged = true end
  else bad[#bad + 1] = field end
end
if not counter.g and next(counter.rows) then
  -- Whether they were counted before or after a reset isn't known.
  isDamaged = true
end
`;

const readSource = `${common}
local window = windowOf(tonumber(ARGV[1]))
-- A reset that no host has reported yet: running requests still hold their slots.
if counter.g and tonumber(ARGV[2]) > counter.g then
  for _, each in pairs(counter.rows) do
    each.current, each.previous, each.tokens, each.tokensBefore = 0, 0, 0, 0
  end
end
local own = counter.rows[ARGV[3]]
if own then own.tokens, own.tokensBefore, own.slots = 0, 0, 0 end
local all = sums(counter.rows, window)
return { now, window, all.requests, all.requestsBefore, all.tokens, all.tokensBefore, all.slots }
`;

const syncSource = `${common}
local host = ARGV[1]
local given = numbersIn(ARGV[2])
local start, seq, generation, synced, period = given[1], given[2], given[3], given[4], given[5]
local capRequests, capSlots = given[6], given[7]
local reported = {
  window = given[8], spent = given[9], spentBefore = given[10], held = given[11],
  frozen = given[12], frozenBefore = given[13],
}
local wanted = given[14]
local tokens = { window = given[15], current = given[16], previous = given[17] }
local slotsInUse, slotsWanted = given[18], given[19]
local slotsValid, settle, leftSlots = given[20], given[21], given[22]
local window = windowOf(period)
local kept = 2 * period + slotsValid

if not counter.g and next(counter.rows) then counter.g = generation end

-- A late question changes nothing.
local own = counter.rows[host]
local status = 0
if counter.g and generation < counter.g then
  status = 2
elseif own and generation == counter.g and now - own.at < slotsValid then
  if start < own.start then status = 3
  elseif start == own.start and seq <= own.seq then status = 1 end
end
if status ~= 0 then
  local all = sums(counter.rows, window)
  return { status, now, window, 0, 0, 0, 0, 0,
    all.requests, all.requestsBefore, all.tokens, all.tokensBefore, all.slots }
end

-- Rows that no longer count: those of a lower generation, and of hosts gone for long.
local gone = bad
for _, field in ipairs(bad) do
  if field ~= 'h:' .. host then isDamaged = true end
end
for name, each in pairs(counter.rows) do
  if name ~= host and (generation > counter.g or each.at + kept <= now) then
    gone[#gone + 1] = 'h:' .. name
  end
end
if counter.g and generation > counter.g then
  counter.rows = {}
  own = nil
end
for _, field in ipairs(gone) do counter.rows[string.sub(field, 3)] = nil end

-- If the engine has lost what it granted this host, it grants nothing for a while.
local born, settles = counter.b or now, counter.s or 0
if isDamaged then settles = now + settle end
if synced > 0 and synced + kept > now then
  if not own then
    if now < born + settle then settles = math.max(settles, born + settle) end
  elseif own.at < synced and settles + slotsValid <= now then
    settles = now + settle
  end
end

-- The clock may have been set back since.
settles = math.min(settles, now + settle)

-- Grants of an earlier start of this host's daemon count as used; its slots count until their
-- holders have had time to take them again.
local frozen, frozenBefore = roll(reported.window, reported.frozen, reported.frozenBefore, window)
local frozenSlots, frozenSlotsUntil = 0, 0
if own then
  local again = start > own.start
  local current, previous
  if again then
    current, previous = roll(own.window, own.current, own.previous, window)
  else
    current, previous = roll(own.window, own.frozen, own.frozenBefore, window)
  end
  frozen, frozenBefore = math.max(frozen, current), math.max(frozenBefore, previous)
  if own.frozenSlotsUntil > now then
    frozenSlots, frozenSlotsUntil = own.frozenSlots, own.frozenSlotsUntil
  end
  if again and own.slotsUntil > now then
    frozenSlots = add(frozenSlots, own.slots)
    frozenSlotsUntil = math.max(frozenSlotsUntil, math.min(own.slotsUntil, now + leftSlots))
  end
end

local current, previous = roll(reported.window, reported.spent, reported.spentBefore, window)
current = add(frozen, current)
if reported.window >= window then current = add(current, reported.held) end
previous = add(frozenBefore, previous)
local token, tokenBefore = roll(tokens.window, tokens.current, tokens.previous, window)
local stated = {
  window = window, current = current, previous = previous,
  tokens = token, tokensBefore = tokenBefore,
  slots = slotsInUse, slotsUntil = now + slotsValid,
  frozenSlots = frozenSlots, frozenSlotsUntil = frozenSlotsUntil,
}
counter.rows[host] = stated
local all = sums(counter.rows, window)

-- floor(count * left / period), exact; left is at most period.
local function weigh(count, left)
  local product = count * left
  if product <= 2251799813685248 then return math.floor(product / period) end
  local whole = math.floor(count / period)
  local rest = count - whole * period
  local quotient, remainder = 0, 0
  local bit = 1
  while bit * 2 <= left do bit = bit * 2 end
  local bits = left
  while bit >= 1 do
    quotient, remainder = quotient * 2, remainder * 2
    if bits >= bit then
      bits = bits - bit
      remainder = remainder + rest
    end
    while remainder >= period do
      remainder = remainder - period
      quotient = quotient + 1
    end
    bit = bit / 2
  end
  return whole * left + quotient
end

local function grant(wants, cap, counted)
  if cap < 0 then return wants end
  return math.max(0, math.min(wants, cap - counted))
end
local granted, slotsGranted = 0, 0
if settles <= now then
  local estimate = all.requests
  if period > 0 and all.requestsBefore > 0 then
    estimate = add(weigh(all.requestsBefore, (window + 1) * period - now), all.requests)
  end
  granted = grant(wanted, capRequests, estimate)
  slotsGranted = grant(slotsWanted, capSlots, all.slots)
end
stated.current = add(stated.current, granted)
stated.slots = add(stated.slots, slotsGranted)
if stated.slots == 0 then stated.slotsUntil = 0 end

local words = {
  1, start, seq, now, window, stated.current, stated.previous, frozen, frozenBefore,
  token, tokenBefore, stated.slots, stated.slotsUntil, frozenSlots, frozenSlotsUntil,
}
for i, word in ipairs(words) do words[i] = string.format('%.0f', word) end
-- First what a full engine refuses, so that it changes nothing.
redis.call('HSET', KEYS[1], 'g', string.format('%.0f', generation),
  'b', string.format('%.0f', born), 's', string.format('%.0f', settles),
  'h:' .. host, table.concat(words, ' '))
for _, field in ipairs(gone) do redis.call('HDEL', KEYS[1], field) end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', kept))

all = sums(counter.rows, window)
return { 0, now, window, granted, slotsGranted, frozen, frozenBefore, math.max(0, settles - now),
  all.requests, all.requestsBefore, all.tokens, all.tokensBefore, all.slots }
`;

export const syncScript: EngineScript = { name: "sync", source: syncSource };
export const readScript: EngineScript = { name: "read", source: readSource };
