-- is_idle(request): whether nobody has any of the resources that a request wants, and nobody waits for one.
local function is_idle(request)
  for _, part in ipairs(request.parts) do
    if members_below('r ' .. part.resource, 1)[1] then return false end
  end
  return true
end
