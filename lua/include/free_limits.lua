-- free_limits(conf, ids): the leases of these tasks end: they count for their limits no more, and the next in line may start.
-- NEEDS running holding waiting open_lines
local function free_limits(conf, ids)
  local freed, keys = {}, {}
  for i, lease in ipairs(redis.call('HMGET', running, unpack(ids))) do  -- at most 1,000: as end_leases
    for key in string.gmatch(lease and string.match(lease, '^[^|]* limits=([^ |]+)') or '', '[^,]+') do
      redis.call('ZREM', holding .. key, ids[i])
      if conf.limit[key] then conf.limit[key].held = nil end
      if not freed[key] then keys[#keys + 1], freed[key] = key, true end
    end
  end
  conf.steps = conf.steps + 2 * #ids
  local lined = {}
  for _, key in ipairs(keys) do  -- there are lines for more steps than are left: then it need not be asked
    if #lined >= conf.steps or redis.call('EXISTS', waiting .. key) == 1 then lined[#lined + 1] = key end
  end
  if #lined > 0 then open_lines(conf, lined) end
end
