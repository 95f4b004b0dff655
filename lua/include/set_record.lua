-- set_record(conf, rid, text): note the record of a request, for the rest of this call and for close_domain, which
-- stores it.
-- LATE
local function set_record(conf, rid, text)
  conf.texts[rid] = text
  conf.changed = conf.changed or {}
  conf.changed[rid] = true
end
