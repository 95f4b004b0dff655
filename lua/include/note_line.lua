-- note_line(conf, resource): somebody in line for it may have a turn now: for promote_freed to look at.
local function note_line(conf, resource)
  conf.freed = conf.freed or {}
  conf.freed[#conf.freed + 1] = resource
end
