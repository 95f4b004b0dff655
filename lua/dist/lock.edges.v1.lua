#!lua flags=no-writes
-- generated from lua/lock/edges.v1.lua by lua/bundle.py; do not edit
-- lock.edges.v1: return a page of the wait-for graph, resource by resource. If a waiter waits for another waiter, the
-- edges that follow from the other's are left out; what can be reached is the same. `cursor` is the cursor of the last
-- page, '' at first; an empty cursor in the answer means that this was the last page. rid and blocker_rid are the
-- stamps of an edge: while both exist, so does the edge. A page ends at its limit, or at its budget. The next page
-- continues there, also inside a resource. Of each resource, it reads the first 1,000 holders and waiters.
--
-- DATA   config   hash {base}:config
-- DATA   requests hash {base}:requests
-- DATA   graph    zset {base}:graph
-- ARGV   cursor    bytes 0..2000  ?=
-- ARGV   limit     int 1..1000    ?=1000
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int cursor:text edges:list(edge)
-- EACH   edge      waits owner:id rid:id resource:id code:text blocker:id blocker_rid:id held:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 3n commands for n resources; looks at 2,000 commands and edges, two holders or waiters counting as one; at most 6 commands, 12,000 steps

local unpack = table.unpack or unpack
local arg_find = string.find
local function refuse(field, value, want)
  local got = 'nothing'
  if type(value) == 'number' then
    got = string.format('%.0f', value)
  elseif value then
    got = "'" .. string.gsub(string.sub(value, 1, 64), '[^ -~]', '?') .. "'"
  end
  return redis.error_reply('ADEQ_ARG ' .. field .. ' must be ' .. want .. ', got ' .. got)
end
local function arg_uint(v, min, max)
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{lock:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:lock:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{lock:<name>}:config, <prefix>:{<slot>}:lock:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':requests', arg_base .. ':graph' }
end

local cursor = ARGV[1]
if not cursor or #cursor > 2000 then
  return refuse('cursor', cursor and #cursor, '0 to 2000 bytes long')
end
local limit = ARGV[2]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 arguments, got ' .. #ARGV)
end

-- members_below(words, limit): the first members of the graph that begin with these words, at most limit.
-- LATE
local function members_below(words, limit) local graph = KEYS[3]
  return redis.call('ZRANGE', graph, '[' .. words .. ' ', '(' .. words .. '!', 'BYLEX', 'LIMIT', 0, limit)
end

-- edges_of(resource, answers, page, order, at): add the edges of the waiters of a resource, from the waiter at that
-- place and its edge number `at` on. A waiter that has to wait for another waiter gets edges to the nearest one only. A
-- run of shared waiters waits together. Returns the waiter and the edge to continue with, if the page is full. page:
-- `left`, how many more edges it may have, and `work`, how much more may be read.
local function edges_of(resource, answers, page, order, at)
  local line = 'r ' .. resource
  local waiters = members_below(line .. ' q', 1000)
  if #waiters == 0 then return end
  local holders, alone, run, last = members_below(line .. ' h', 1000), {}, {}, nil
  page.work = page.work - math.ceil((#waiters + #holders) / 2)
  -- holds are sorted: permits, shared, exclusive
  local mixed = not string.find((holders[1] or '') .. (holders[#holders] or ''), '^r %S+ h s .* h s %S+ %S+$')
  for _, member in ipairs(mixed and holders or {}) do
    if not string.find(member, '^r %S+ h s ') then alone[#alone + 1] = member end
  end
  for _, member in ipairs(waiters) do
    local place, code, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    local others, behind = {}, code == 's' and {} or run
    if not last then
      others = code == 's' and alone or holders
    elseif code == 's' or #run == 0 then
      others = { last }
    end
    for i = place == order and at or 1, place < order and 0 or #others + #behind do
      if page.left <= 0 or page.work <= 0 then return place, i end
      page.work = page.work - 1
      local held = not last and i <= #others
      local its_owner, its_rid = string.match(others[i] or behind[i - #others],
        held and '^r %S+ h %S+ (%S+) (%S+)$' or '^r %S+ q %S+ %S+ (%S+) (%S+)$')
      if its_owner ~= owner then
        page.left = page.left - 1
        answers[#answers + 1] = { 'waits', owner, rid, resource, code, its_owner, its_rid, held and 1 or 0 }
      end
    end
    if code == 's' then
      run[#run + 1] = member
    else
      run, last = {}, member
    end
  end
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 1) > 1 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 1 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6, -4)  -- the first three of six digits
  return text + 0, text
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
end

-- open_domain(rids): open a call, and read what every call needs: the counters of the domain, the records of these
-- requests, and a time that never goes back (the offset adds what the server's clock has lost). Or nil and the error to
-- return.
local function open_domain(rids) local requests = KEYS[2]
  local ctx, refused = open()
  if refused then return nil, refused end
  local row = redis.call('HMGET', requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - ctx.now)
  if offset ~= 0 then
    ctx.now = ctx.now + offset
    ctx.now_text = string.format('%.0f', ctx.now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  ctx.texts, ctx.offset, ctx.stepped = texts, offset, offset ~= before
  ctx.fence, ctx.waiting, ctx.due = row[3] or 0, (row[4] or 0) + 0, (row[5] or 0) + 0
  return ctx
end

local graph = KEYS[3]

local ctx, refused = open_domain({})
if refused then return refused end
local at, place, nth = string.match(cursor, '^(%S*) ?(%S*) ?(%d*)$')
if not at then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local answers, page = {}, { left = limit, work = 2000 }
for _ = 1, 1000 do
  if page.left <= 0 or page.work <= 0 then break end
  if place == '' then
    at = string.match(redis.call('ZRANGE', graph, '(r ' .. at .. '!', '(r!', 'BYLEX', 'LIMIT', 0, 1)[1] or '', '^r (%S+)') or ''
    if at == '' then break end
    page.work = page.work - 3
  end
  place, nth = edges_of(at, answers, page, place, tonumber(nth))
  if place then return { 'ok', ctx.now, at .. ' ' .. place .. string.format(' %d', nth), answers } end
  place = ''
end
return { 'ok', ctx.now, at, answers }
