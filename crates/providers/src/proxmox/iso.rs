//! The small drive by which cloud-init in a machine gets its user data: an ISO 9660 image with the volume id `cidata`, as its
//! data source `NoCloud` looks for. Long names are in a second, Joliet directory, since plain ISO 9660 has no `user-data`.

const SECTOR: usize = 2048;
/// Where things are, in sectors.
const PRIMARY_TABLES: [u32; 2] = [19, 20];
const JOLIET_TABLES: [u32; 2] = [21, 22];
const PRIMARY_ROOT: u32 = 23;
const JOLIET_ROOT: u32 = 24;
const FIRST_FILE: u32 = 25;
/// The size of a path table that has a root and nothing else.
const TABLE_SIZE: u32 = 10;
/// The size of the record of a root.
const ROOT_RECORD: usize = 34;
const IS_FOLDER: u8 = 2;

/// The drive of a machine that is to be called so.
pub(super) fn drive(instance_id: &str, name: &str, user_data: &str) -> Vec<u8> {
    let meta_data = format!("instance-id: {instance_id}\nlocal-hostname: {name}\n");
    // Records of a folder are in the order of their names.
    let files = [
        File { plain: "META_DATA.;1", long: "meta-data", contents: meta_data.into_bytes() },
        File { plain: "USER_DATA.;1", long: "user-data", contents: user_data.as_bytes().to_vec() },
    ];
    image("cidata", &files)
}

struct File {
    plain: &'static str,
    long: &'static str,
    contents: Vec<u8>,
}

fn image(volume: &str, files: &[File]) -> Vec<u8> {
    let sectors: u32 = FIRST_FILE + files.iter().map(|file| sectors(file.contents.len())).sum::<u32>();
    let mut image = vec![0; 16 * SECTOR];
    let primary = Directory { root: PRIMARY_ROOT, tables: PRIMARY_TABLES, is_joliet: false };
    let joliet = Directory { root: JOLIET_ROOT, tables: JOLIET_TABLES, is_joliet: true };
    put(&mut image, &primary.descriptor(volume, sectors));
    put(&mut image, &joliet.descriptor(volume, sectors));
    put(&mut image, b"\xffCD001\x01");
    for directory in [&primary, &joliet] {
        put(&mut image, &table(directory.root.to_le_bytes(), 1_u16.to_le_bytes()));
        put(&mut image, &table(directory.root.to_be_bytes(), 1_u16.to_be_bytes()));
    }
    put(&mut image, &primary.folder(files));
    put(&mut image, &joliet.folder(files));
    for file in files {
        put(&mut image, &file.contents);
    }
    image
}

/// One of the two ways in which the files are named.
struct Directory {
    root: u32,
    tables: [u32; 2],
    is_joliet: bool,
}

impl Directory {
    fn descriptor(&self, volume: &str, sectors: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SECTOR);
        bytes.extend(if self.is_joliet { b"\x02CD001\x01\x00" } else { b"\x01CD001\x01\x00" });
        bytes.extend(self.text("", 32));
        bytes.extend(self.text(volume, 32));
        bytes.extend([0; 8]);
        bytes.extend(both_32(sectors));
        let mut escapes = [0; 32];
        if self.is_joliet {
            // Names are in UCS-2, level 3.
            escapes[..3].copy_from_slice(b"%/E");
        }
        bytes.extend(escapes);
        for number in [1, 1, 2048] {
            bytes.extend(both_16(number));
        }
        bytes.extend(both_32(TABLE_SIZE));
        bytes.extend(self.tables[0].to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.tables[1].to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(record(&[0], self.root, SECTOR, IS_FOLDER));
        // Volume set, publisher, preparer, application; copyright, abstract and bibliography.
        for size in [128, 128, 128, 128, 37, 37, 37] {
            bytes.extend(self.text("", size));
        }
        for _ in ["created", "modified", "expires", "effective"] {
            bytes.extend(b"0000000000000000\x00");
        }
        bytes.push(1);
        bytes
    }

    fn folder(&self, files: &[File]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for itself in [[0], [1]] {
            bytes.extend(record(&itself, self.root, SECTOR, IS_FOLDER));
        }
        let mut place = FIRST_FILE;
        for file in files {
            let name = if self.is_joliet { ucs2(file.long) } else { file.plain.as_bytes().to_vec() };
            bytes.extend(record(&name, place, file.contents.len(), 0));
            place += sectors(file.contents.len());
        }
        bytes
    }

    fn text(&self, text: &str, size: usize) -> Vec<u8> {
        let (mut bytes, blank): (Vec<u8>, &[u8]) =
            if self.is_joliet { (ucs2(text), &[0, b' ']) } else { (text.as_bytes().to_vec(), b" ") };
        while bytes.len() + blank.len() <= size {
            bytes.extend(blank);
        }
        bytes.resize(size, 0);
        bytes
    }
}

fn record(name: &[u8], place: u32, length: usize, flags: u8) -> Vec<u8> {
    // Records have an even size.
    let size = (ROOT_RECORD - 1 + name.len()).next_multiple_of(2);
    let mut bytes = vec![u8::try_from(size).unwrap_or(u8::MAX), 0];
    bytes.extend(both_32(place));
    bytes.extend(both_32(u32::try_from(length).unwrap_or(u32::MAX)));
    bytes.extend([0; 7]);
    bytes.extend([flags, 0, 0]);
    bytes.extend(both_16(1));
    bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    bytes.extend(name);
    bytes.resize(size, 0);
    bytes
}

fn table(root: [u8; 4], parent: [u8; 2]) -> Vec<u8> {
    [&[1, 0], &root[..], &parent[..], &[0, 0]].concat()
}

/// Appends something that begins at a sector and fills up its last one.
fn put(image: &mut Vec<u8>, bytes: &[u8]) {
    image.extend(bytes);
    image.resize(image.len().next_multiple_of(SECTOR), 0);
}

fn sectors(length: usize) -> u32 {
    u32::try_from(length.div_ceil(SECTOR)).unwrap_or(u32::MAX)
}

fn ucs2(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// Numbers are written twice, once for each kind of machine.
fn both_32(number: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn both_16(number: u16) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use windlass_testkit::{PlaneUnavailable, venv};

    use super::drive;

    const READER: &str = "
import io, sys, pycdlib
iso = pycdlib.PyCdlib()
iso.open(sys.argv[1])
print(iso.pvd.volume_identifier.decode().strip())
for name in ('meta-data', 'user-data'):
    out = io.BytesIO()
    iso.get_file_from_iso_fp(out, joliet_path='/' + name)
    plain = io.BytesIO()
    iso.get_file_from_iso_fp(plain, iso_path='/' + name.upper().replace('-', '_') + '.;1')
    assert out.getvalue() == plain.getvalue()
    print(name, len(out.getvalue()), out.getvalue().decode()[:60].replace(chr(10), '|'))
";

    #[test]
    fn a_reader_of_others_finds_the_files() {
        let environment = match venv(&["pycdlib==1.14.0"]) {
            Ok(environment) => environment,
            Err(
                why @ (PlaneUnavailable::PythonMissing { .. } | PlaneUnavailable::PackagesMissing { .. }),
            ) => {
                return println!("skipped: {why}");
            }
            Err(why) => panic!("{why}"),
        };
        let file = std::env::temp_dir().join(format!("windlass-iso-{}", std::process::id()));
        for length in [0, 1, 2048, 70_000] {
            let user_data = "x".repeat(length);
            std::fs::write(&file, drive("an-id", "web-1", &user_data)).unwrap();
            let output = Command::new(environment.join("bin/python"))
                .args(["-c", READER])
                .arg(&file)
                .output()
                .unwrap();
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let shown = &user_data[..length.min(60)];
            let expected = format!(
                "cidata\nmeta-data 41 instance-id: an-id|local-hostname: web-1|\nuser-data {length} {shown}\n"
            );
            assert_eq!(out, expected, "{err}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}
