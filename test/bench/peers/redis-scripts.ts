/**
 * The limiter as Lua scripts for Redis: the same sliding windows, checked all before any is
 * charged, one gauge, and the counts of the success headers. It is given less to do than the
 * daemon: the caller names the matching rules and their caps, a settle that comes twice counts
 * twice, and the slots of a caller that dies stay taken.
 *
 * A window is a hash: `s` its start, `r` and `t` the requests and tokens since, `q` and `u` those
 * of the window before.
 */

/**
 * KEYS: the windows, then the gauge. ARGV: period in ms, request cap, token cap (0 for none) per
 * window, then the gauge's cap. Answers `{0, limit, remaining, reset, limit, remaining, reset}`
 * for requests and tokens, or `{n, wait}` for a breach of rule n.
 */
export const admitScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local windows = #KEYS - 1
local breach, longest = 0, 0
local gauge = tonumber(redis.call('GET', KEYS[#KEYS]) or 0)
if gauge >= tonumber(ARGV[#ARGV]) then breach, longest = #KEYS, 1 end
local rolled = {}
local rl, rr, rs, tl, tr, ts = 0, math.huge, 0, 0, math.huge, 0
for i = 1, windows do
  local period, maxRequests, maxTokens = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
  local w = redis.call('HMGET', KEYS[i], 's', 'r', 'q', 't', 'u')
  local s, r, q, t, u = tonumber(w[1]) or 0, tonumber(w[2]) or 0, tonumber(w[3]) or 0, tonumber(w[4]) or 0, tonumber(w[5]) or 0
  local start = now - now % period
  if s < start then
    if s == start - period then q, u = r, t else q, u = 0, 0 end
    r, t = 0, 0
    rolled[i] = {start, q, u}
  end
  local left = start + period - now
  local requests = math.floor(q * left / period) + r
  local wait = math.ceil(left / 1000)
  if requests >= maxRequests and wait > longest then breach, longest = i, wait end
  if maxRequests - requests - 1 < rr then rl, rr, rs = maxRequests, maxRequests - requests - 1, wait end
  if maxTokens > 0 then
    local tokens = math.floor(u * left / period) + t
    if tokens >= maxTokens and wait > longest then breach, longest = i, wait end
    if maxTokens - tokens < tr then tl, tr, ts = maxTokens, maxTokens - tokens, wait end
  end
end
if breach > 0 then return {breach, longest} end
for i = 1, windows do
  local roll = rolled[i]
  if roll then
    redis.call('HSET', KEYS[i], 's', roll[1], 'r', 1, 'q', roll[2], 't', 0, 'u', roll[3])
  else
    redis.call('HINCRBY', KEYS[i], 'r', 1)
  end
end
redis.call('INCR', KEYS[#KEYS])
return {0, rl, rr, rs, tl, tr, ts}
`;

/**
 * KEYS: the windows with a token cap, then the gauge. ARGV: the tokens, then the period in ms per
 * window.
 */
export const settleScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #KEYS - 1 do
  local period = tonumber(ARGV[i + 1])
  local start = now - now % period
  local s = tonumber(redis.call('HGET', KEYS[i], 's') or 0)
  if s < start then
    local w = redis.call('HMGET', KEYS[i], 'r', 't')
    local q, u = 0, 0
    if s == start - period then q, u = tonumber(w[1]) or 0, tonumber(w[2]) or 0 end
    redis.call('HSET', KEYS[i], 's', start, 'r', 0, 'q', q, 't', ARGV[1], 'u', u)
  else
    redis.call('HINCRBY', KEYS[i], 't', ARGV[1])
  end
end
redis.call('DECR', KEYS[#KEYS])
return 0
`;
