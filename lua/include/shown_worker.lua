-- shown_worker(name): what is known of a worker, as a flat list, without what is only for its calls; nil if it is not of the
-- group or lacks the capability that is asked for.
-- NEEDS worker_hash group capability
local function shown_worker(name)
  -- at most 300: what a worker says of itself, and 256 slots
  local flat, shown, own = redis.call('HGETALL', worker_hash .. name), {}, {}
  for f = 1, #flat, 2 do
    local field = flat[f]
    if field ~= 'replaced' and not string.find(field, '^slot:') then
      own[field] = flat[f + 1]
      shown[#shown + 1] = field
      shown[#shown + 1] = flat[f + 1]
    end
  end
  local able = capability == '' or string.find(',' .. (own.capabilities or '') .. ',', ',' .. capability .. ',', 1, true)
  if own.incarnation and able and (group == '' or own.group == group) then return shown end
end
