-- queue.schedules.v1: return a page of the schedules: all by next due time, those without one last; or, with `due`, the
-- due ones; or the one with a name. Payloads are returned for due and named schedules. `cursor` is the cursor of the
-- last page, '' at first; an empty cursor in the answer means that this was the last page. A schedule that fires
-- meanwhile may come twice, and one that is resumed may be missing. A page stops before 4 MiB.
--
-- ARGV   name      name          ?=
-- ARGV   due       bool          ?=0
-- ARGV   cursor    bytes 0..128  ?=
-- ARGV   limit     int 1..200    ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found name:name record:pairs(schedule) payload:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + n commands if they are due, otherwise 3 + 2n, 2 more on a page that follows another, O(n log m); at most 450 commands, 17,000 steps

local ctx, refused = open()
if refused then return refused end
local last_score, last_name = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not last_name then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local page = { name, '' }
if name == '' then
  local start = last_name and rank_after(schedules, last_score, last_name) or 0
  page = redis.call('ZRANGE', schedules, start, start + limit - 1, 'WITHSCORES')
end
-- Payloads that are not shown are not read: they may be large.
local function read(key)
  if due or name ~= '' then return redis.call('HGETALL', key) end  -- at most 30: fields of a schedule
  local flat, names = {}, {}
  for _, field in ipairs(redis.call('HKEYS', key)) do  -- at most 30: fields of a schedule
    if field ~= 'payload' then names[#names + 1] = field end
  end
  -- at most 30: fields of a schedule
  for i, value in ipairs(names[1] and redis.call('HMGET', key, unpack(names)) or {}) do flat[2 * i - 1], flat[2 * i] = names[i], value end
  return flat
end
local answers, bytes, at = {}, 0, 1
while page[at] do  -- at most 200: limit
  if due and name == '' and tonumber(page[at + 1]) > ctx.now then return { 'ok', ctx.now, '', answers } end
  local fields, record, data = read(schedule .. page[at]), {}, ''
  for i = 1, #fields, 2 do
    if fields[i] ~= 'payload' and fields[i] ~= 'seed' then
      record[#record + 1], record[#record + 2] = fields[i], fields[i + 1]
      bytes = bytes + #fields[i + 1]
    elseif fields[i] == 'payload' then
      data = fields[i + 1]
      bytes = bytes + #data
    end
  end
  if bytes > 4194304 then break end
  if #record > 0 then answers[#answers + 1] = { 'found', page[at], record, data } end
  at = at + 2
end
local more = name == '' and (page[at] or at > 2 * limit)
return { 'ok', ctx.now, more and page[at - 1] .. ' ' .. page[at - 2] or '', answers }
