-- open_search(ctx): load the search that an earlier call has saved, its rid, and the request's place then; nil if there
-- is none. What it found is read when it is needed.
-- LATE
local function open_search(ctx)
  local row = redis.call('HMGET', saved, '#rid', '#stands', '#order', '#place', '#numbers', '#cursor', '#hard', '#maybe',
    '#soft', '#permits', '#short', '#confirmed')
  if not row[1] then return nil end
  local function block(text)
    local owner, resource, order = string.match(text, '^(%S+) (%S+) (%S*)$')
    return owner and { owner = owner, resource = resource, order = order }
  end
  local function given(text) return text ~= '' and text or nil end
  local count, at, scans = string.match(row[5], '^(%d+) (%d+) (%d+)$')
  local state = { saved = true, order = row[3], place = row[4], count = tonumber(count), at = tonumber(at),
    cursor = given(row[6]), hard = block(row[7]), maybe = block(row[8]), soft = block(row[9]), permits = row[10] == '1' or nil,
    short_at = given(row[11]), confirmed = given(row[12]), scans = {}, entries = {}, loaded = 0, rooms = {}, wants = {} }
  local function lazy(read)
    return setmetatable({}, { __index = function(list, name)
      ctx.visits = ctx.visits - 1
      rawset(list, name, read(name) or false)
      return rawget(list, name)
    end })
  end
  state.from = lazy(function(resource) return redis.call('HGET', saved, 'l' .. resource) end)
  state.found = lazy(function(owner)
    local rid, code, resource, counted, waits_for, depth =
      string.match(redis.call('HGET', saved, 'f' .. owner) or '', '^(%S+) (%S+) (%S+) (%d) (%S+) (%d+)$')
    return rid and { owner = owner, rid = rid, code = code, resource = resource, counted = counted == '1',
      waits_for = waits_for, depth = tonumber(depth), saved = true }
  end)
  state.todo = lazy(function(n)
    local owner = redis.call('HGET', saved, 'n' .. n)
    return owner and state.found[owner]
  end)
  for i = 1, tonumber(scans) do -- at most 64: locks of a request, or what is visited at a time
    local resource, order, code, by, counted, begun, stop, last =
      string.match(redis.call('HGET', saved, 's' .. i), '^(%S+) (%S*) (%S+) (%S+) (%d) (%d) (%S*) (%S*)$')
    state.scans[i] = { resource = resource, order = order, code = code, by = by, counted = counted == '1',
      begun = begun == '1', stop = stop, last = given(last) }
  end
  return state, row[1], row[2]
end
