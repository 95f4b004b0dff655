#!lua flags=no-writes
-- generated from lua/queue/overview.v1.lua by lua/bundle.py; do not edit
-- queue.overview.v1: return what stats returns, and since when the oldest ready task of each lane waits. Of each lane, the
-- next task of each priority is looked at. Tasks behind it are usually younger; a task of a user with many tasks may
-- not be, if shares are fair. At most 200 lanes are looked at, and the 50 that wait longest are listed.
--
-- DATA   config   hash        {base}:config
-- DATA   leases   zset        {base}:leases
-- DATA   task     prefix/hash {base}:task:    id
-- DATA   ready    prefix/zset {base}:ready:   lane
-- DATA   lanes    set         {base}:lanes
-- DATA   delayed  zset        {base}:delayed
-- DATA   blocked  zset        {base}:blocked
-- DATA   finished zset        {base}:finished
-- DATA   dead     zset        {base}:dead
-- DATA   workers  zset        {base}:workers
-- DATA   counters hash        {base}:counters
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int mode:text ready:int delayed:int blocked:int running:int stalled:int finished:int dead:int workers:int lanes:pairs(lanes) more_lanes:int counters:pairs(counters) oldest:pairs(oldest)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   12 + 3l commands for l lanes, 2 more for each further priority; at most 17,000 commands, 72,000 steps

local BAND = 281474976710656
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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':workers', arg_base .. ':counters' }
end

local now_ms = ARGV[1]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[1], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 1 then
  return redis.error_reply('ADEQ_ARG expected 1 arguments, got ' .. #ARGV)
end

-- count_tasks(ctx): what stats returns, as a list: the status, the time, the mode, how many tasks are in each state, and so on. Also
-- returns the lanes that it has counted, at most 10,000.
local function count_tasks(ctx) local leases, ready, lanes, delayed, blocked, finished, dead, workers, counters = KEYS[2], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
  local names, sizes, in_line = redis.call('SRANDMEMBER', lanes, 10000), {}, 0
  for i = 1, math.min(#names, 10000) do
    local size = redis.call('ZCARD', ready .. names[i])
    if i <= 1000 then sizes[2 * i - 1], sizes[2 * i] = names[i], string.format('%d', size) end
    in_line = in_line + size
  end

  -- Each claim is in one bucket of wait_ms, each completion in one of run_ms: their sums are not counted apart.
  -- at most 200: totals and buckets
  local totals, sums = redis.call('HGETALL', counters), { wait_ms = 0, run_ms = 0 }
  for i = 1, #totals, 2 do
    local name = string.match(totals[i], '^(%l+_ms):')
    if name then sums[name] = sums[name] + totals[i + 1] end
  end
  for name, sum in pairs({ claimed = sums.wait_ms, completed = sums.run_ms }) do
    if sum > 0 then totals[#totals + 1], totals[#totals + 2] = name, string.format('%.0f', sum) end
  end
  local leased = redis.call('ZCARD', leases)
  local others = #names < 1000 and 0 or redis.call('SCARD', lanes) - 1000
  return {
    'ok', ctx.now, ctx.settings_mode or 'running', in_line,
    redis.call('ZCARD', delayed), redis.call('ZCARD', blocked), leased,
    leased > 0 and redis.call('ZCOUNT', leases, '-inf', ctx.now) or 0, redis.call('ZCARD', finished), redis.call('ZCARD', dead),
    redis.call('ZCOUNT', workers, string.format('(%.0f', ctx.now - ctx.settings_presence_ms), '+inf'),
    sizes, math.max(0, others), totals,
  }, names
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 2) > 2 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 2 .. ': upgrade this client')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'presence_ms', 'mode')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_presence_ms = tonumber(row[3] or 30000), settings_mode = row[4] }
end

-- waits_since(lane, size): since when (ms) the task has waited that has waited longest, of the next tasks of each priority of a lane
-- with that many tasks; nil if there is none.
local function waits_since(lane, size) local task, ready = KEYS[3], KEYS[4]
  local oldest_ms, from = nil, 0
  for _ = 1, math.min(size, 10) do
    local first = redis.call('ZRANGE', ready .. lane, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not first[1] then break end
    local row = redis.call('HMGET', task .. first[1], 'ready_ms', 'created_ms')
    local since_ms = tonumber(row[1] or row[2] or nil)
    if since_ms and (not oldest_ms or since_ms < oldest_ms) then oldest_ms = since_ms end
    from = (math.floor(first[2] / BAND) + 1) * BAND
  end
  return oldest_ms
end

local ctx, refused = open()
if refused then return refused end

local answer, names = count_tasks(ctx)
local sizes, waits, oldest = answer[12], {}, {}
for i = 1, math.min(#names, 200) do
  local since_ms = waits_since(names[i], tonumber(sizes[2 * i]))
  if since_ms then waits[#waits + 1] = { names[i], since_ms } end
end
table.sort(waits, function(a, b) return a[2] < b[2] or (a[2] == b[2] and a[1] < b[1]) end)
for i = 1, math.min(#waits, 50) do
  oldest[2 * i - 1], oldest[2 * i] = waits[i][1], string.format('%.0f', waits[i][2])
end
answer[15] = oldest
return answer
