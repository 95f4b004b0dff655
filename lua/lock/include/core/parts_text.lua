-- parts_text(request): the locks of a request as text, for its record and its events.
local function parts_text(request)
  local words = {}
  for i, part in ipairs(request.parts) do
    words[i] = part.code .. part.depends_on .. '/' .. part.fence .. '=' .. part.resource
  end
  return table.concat(words, ',')
end
