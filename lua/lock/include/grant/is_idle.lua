-- is_idle(request): whether all resources of a request are free, without holders or waiters.
local function is_idle(request)
  for _, part in ipairs(request.parts) do
    if members_below('r ' .. part.resource, 1)[1] then return false end
  end
  return true
end
