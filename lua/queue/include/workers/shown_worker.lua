-- shown_worker(name): what is known of a worker, as a flat list, without what is only for its calls; nil if it is not of the
-- group or lacks the capability that is asked for.
local function shown_worker(name)
  local names, shown, own = {}, {}, {}
  -- at most 300: fields, which are the description and up to 256 slots. HKEYS, because slots may be long
  for _, field in ipairs(redis.call('HKEYS', worker_hash .. name)) do
    if field ~= 'replaced' and not string.find(field, '^slot:') then names[#names + 1] = field end
  end
  -- at most 40: what a worker says of itself
  for i, value in ipairs(names[1] and redis.call('HMGET', worker_hash .. name, unpack(names)) or {}) do
    own[names[i]] = value
    shown[#shown + 1] = names[i]
    shown[#shown + 1] = value
  end
  local able = capability == '' or string.find(',' .. (own.capabilities or '') .. ',', ',' .. capability .. ',', 1, true)
  if own.incarnation and able and (group == '' or own.group == group) then return shown end
end
