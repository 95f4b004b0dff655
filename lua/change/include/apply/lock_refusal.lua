-- lock_refusal(ctx, own, domain, rid): the first resource of a change that this request for locks does not hold alone for it; or nil, and
-- for how long it holds them all. domain: the lock domain of the settings, or nil if the call does not name it. Then nothing can be
-- verified, which is allowed only where the locks are in another slot.
-- USES lock
local function lock_refusal(ctx, own, domain, rid)
  local resources = text_of(own, 'resources')
  if not ctx.settings.lock_domain or ctx.settings.lock_domain == 'none' or resources == '' then return nil end
  if not domain then return string.find(config, '}:change:', 1, true) and string.match(resources, '^[^,]+') or nil end
  local held, deadline = {}, tonumber(redis.call('ZSCORE', lock.deadlines, rid) or 0)
  local request = lock.live_request(domain, rid)
  if request and request.state == 'held' and request.owner == domain_name() .. '/' .. own.id and deadline > domain.now then
    for _, part in ipairs(request.parts) do  -- at most 32: locks of a request
      if part.code == 'x' then held[part.resource] = true end
    end
  end
  for name in string.gmatch(resources, '[^,]+') do  -- at most 32: resources
    if not held[name] then return name end
  end
  return nil, deadline - domain.now
end
