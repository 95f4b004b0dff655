-- note_freed(conf, request): note the lines of what a request has left, and who may have lost what its own wait rests on.
local function note_freed(conf, request)
  for _, part in ipairs(request.parts) do
    note_line(conf, part.resource, part.code == 's')
    if conf.lines then conf.lines[part.resource] = nil end
  end
  if request.order == '-' then
    conf.losers = conf.losers or {}
    conf.losers[request.owner] = true
  end
end
