-- fences_of(request): the fence of each lock of a holder, for an answer.
-- EARLY
local function fences_of(request)
  local fences = {}
  for i, part in ipairs(request.parts) do fences[i] = { 'part', part.resource, tonumber(part.fence) } end
  return fences
end
