-- note_line(conf, resource, shared, from): somebody in line for it, behind that place, may have a turn now: for
-- promote_freed to look at, once. shared: all that has gone is one who shared it, or would have.
local function note_line(conf, resource, shared, from)
  conf.freed, conf.noted = conf.freed or {}, conf.noted or {}
  from = from or ''
  local noted = conf.noted[resource]
  if not noted then
    noted = { resource = resource, shared = shared, from = from }
    conf.freed[#conf.freed + 1], conf.noted[resource] = noted, noted
  end
  noted.shared = noted.shared and shared
  if from < noted.from then noted.from = from end
end
